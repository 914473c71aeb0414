import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { ERROR_CODE } from '../http/errors/api-error.js';
import { REQUEST_ID_EXAMPLE } from './header-fields.js';

/** An error in one property of the body, or in one parameter of the query or the path. */
@ApiSchema({ name: 'ErrorDetail' })
class ErrorDetailDto {
  @ApiProperty({
    description: 'What is wrong',
    example: 'must be a text of 1 to 255 characters, without NUL and lone surrogates',
  })
  message!: string;

  @ApiPropertyOptional({
    description: 'The property of the body, as a JSON Pointer (RFC 6901); empty for the body itself',
    example: '/wish',
  })
  pointer?: string;

  // Without an example: a detail has a pointer or a parameter, not both.
  @ApiPropertyOptional({ description: 'The parameter of the query or the path, by its name' })
  parameter?: string;
}

export class ErrorDto {
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 400, maximum: 599, example: 431 })
  statusCode!: number;

  @ApiProperty({ description: 'The status in words', example: 'Request Header Fields Too Large' })
  error!: string;

  @ApiProperty({
    description: 'What is wrong, for a person',
    example: 'The header fields of the request are too large',
  })
  message!: string;

  @ApiProperty({
    description: 'What is wrong, for a program; codes do not change',
    pattern: ERROR_CODE.source,
    example: 'REQUEST_HEADER_FIELDS_TOO_LARGE',
  })
  errorCode!: string;

  @ApiProperty({ description: 'Names this request in the log of the service', example: REQUEST_ID_EXAMPLE })
  requestId!: string;

  @ApiPropertyOptional({ type: [ErrorDetailDto], description: 'The properties or parameters that are wrong' })
  details?: ErrorDetailDto[];
}
