import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiOperation, ApiParam, ApiResponse } from '@nestjs/swagger';
import { ApiErrors, ApiIfMatch, ApiIfNoneMatch, type DescribedError, headers } from '../http/openapi.js';
import { CookieDto } from './dto/cookie.dto.js';
import { CreateCookieDto } from './dto/create-cookie.dto.js';
import { PatchCookieDto } from './dto/patch-cookie.dto.js';
import { ReplaceCookieDto } from './dto/replace-cookie.dto.js';

const wrongBody: DescribedError = {
  status: 400,
  description: 'The body is malformed, or a member is missing, unknown or not allowed',
  message: '/flavor: must be one of the following values: chocolate, vanilla, cinnamon',
  errorCode: 'INVALID_REQUEST',
  details: [{ pointer: '/flavor', message: 'must be one of the following values: chocolate, vanilla, cinnamon' }],
};
const wrongId: DescribedError = {
  status: 400,
  description: 'The id or a parameter is not valid',
  message: 'id: must be a whole number from 1 to 9007199254740991',
  errorCode: 'INVALID_REQUEST',
  details: [{ parameter: 'id', message: 'must be a whole number from 1 to 9007199254740991' }],
};
const wrongQuery: DescribedError = {
  status: 400,
  description: 'A parameter is unknown or not valid',
  message: 'limit: must be given once, as a whole number from 1 to 1000',
  errorCode: 'INVALID_REQUEST',
  details: [{ parameter: 'limit', message: 'must be given once, as a whole number from 1 to 1000' }],
};
const notFound: DescribedError = {
  status: 404,
  description: 'There is no such cookie',
  message: 'There is no cookie 1',
  errorCode: 'COOKIE_NOT_FOUND',
};
const stale: DescribedError = {
  status: 412,
  description: 'The cookie is no longer the one that If-Match names',
  message: 'The record has changed since you read it; read it again and decide anew',
};
const unconditional: DescribedError = {
  status: 428,
  description: 'The service requires If-Match (`REQUIRE_IF_MATCH`)',
  message: 'Send If-Match with the ETag of the record that you mean to change',
};
const tooLarge: DescribedError = {
  status: 413,
  description: 'The body is larger than 16 KiB',
  message: 'The body is larger than the 16 KiB that are accepted',
};
const wrongType: DescribedError = {
  status: 415,
  description: 'The body is not JSON in UTF-8',
  message: 'The Content-Type must be application/json, in UTF-8',
};
const full: DescribedError = {
  status: 507,
  description: 'The storage is full',
  message: 'Storage is full',
  errorCode: 'STORAGE_FULL',
};

const ApiId = (): MethodDecorator =>
  ApiParam({
    name: 'id',
    description: 'The identifier of the cookie',
    schema: { type: 'integer', format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
    example: 1,
  });

const notModified = {
  status: 304,
  description: 'You have this version already',
  headers: headers('ETag', 'Cache-Control'),
};

export const DescribeList = (): MethodDecorator =>
  applyDecorators(
    ApiOperation({
      operationId: 'listCookies',
      summary: 'Retrieve all cookies',
      description: 'All of them by id, or with `limit` a page. Without `limit` the list is never cut short.',
    }),
    ApiIfNoneMatch(),
    ApiResponse({
      status: 200,
      description: 'The cookies',
      type: [CookieDto],
      headers: headers('ETag', 'Link', 'X-Total-Count', 'Cache-Control'),
    }),
    ApiResponse(notModified),
    ApiErrors(wrongQuery),
  );

export const DescribeGet = (): MethodDecorator =>
  applyDecorators(
    ApiOperation({ operationId: 'getCookie', summary: 'Retrieve one cookie', description: 'The cookie with this id.' }),
    ApiId(),
    ApiIfNoneMatch(),
    ApiResponse({ status: 200, description: 'The cookie', type: CookieDto, headers: headers('ETag', 'Cache-Control') }),
    ApiResponse(notModified),
    ApiErrors(wrongId, notFound),
  );

export const DescribeCreate = (): MethodDecorator =>
  applyDecorators(
    ApiOperation({
      operationId: 'createCookie',
      summary: 'Add a cookie',
      description: 'The service gives it the next id. Ids are never given twice.',
    }),
    ApiBody({ type: CreateCookieDto }),
    ApiResponse({
      status: 201,
      description: 'The cookie is stored',
      type: CookieDto,
      headers: headers('Location', 'ETag', 'Cache-Control'),
    }),
    ApiErrors(wrongBody, tooLarge, wrongType, full),
  );

export const DescribeReplace = (): MethodDecorator =>
  applyDecorators(
    ApiOperation({
      operationId: 'replaceCookie',
      summary: 'Replace a cookie',
      description: 'Replaces flavor and size. The wish is not part of this representation and stays as it is.',
    }),
    ApiId(),
    ApiIfMatch(),
    ApiBody({ type: ReplaceCookieDto }),
    ApiResponse({
      status: 200,
      description: 'The cookie as it is now',
      type: CookieDto,
      headers: headers('Cache-Control'),
    }),
    ApiErrors(wrongBody, notFound, stale, tooLarge, wrongType, unconditional, full),
  );

export const DescribePatch = (): MethodDecorator =>
  applyDecorators(
    ApiOperation({
      operationId: 'patchCookie',
      summary: 'Partially update a cookie',
      description: 'Changes the members that are sent. An empty object changes nothing.',
    }),
    ApiId(),
    ApiIfMatch(),
    ApiConsumes('application/json', 'application/merge-patch+json'),
    ApiBody({ type: PatchCookieDto }),
    ApiResponse({ status: 204, description: 'The cookie is changed', headers: headers('ETag', 'Cache-Control') }),
    ApiErrors(wrongBody, notFound, stale, tooLarge, wrongType, unconditional, full),
  );

export const DescribeDelete = (): MethodDecorator =>
  applyDecorators(
    ApiOperation({
      operationId: 'deleteCookie',
      summary: 'Delete a cookie',
      description: 'Frees its place in the storage. A second time it is 404.',
    }),
    ApiId(),
    ApiIfMatch(),
    ApiResponse({ status: 204, description: 'The cookie is deleted', headers: headers('Cache-Control') }),
    ApiErrors(wrongId, notFound, stale, tooLarge, unconditional, full),
  );
