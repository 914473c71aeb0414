import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiOperation, ApiParam, ApiResponse } from '@nestjs/swagger';
import {
  ApiErrors,
  ApiReadConditions,
  ApiWriteConditions,
  type DescribedError,
  headers,
  malformedBody,
  memberFault,
  parameterFault,
} from '../http/openapi.js';
import { MAX_LIMIT } from '../resource/lists/page.js';
import { FLAVORS } from './cookie.values.js';
import { CookieDto } from './dto/cookie.dto.js';
import { CreateCookieDto } from './dto/create-cookie.dto.js';
import { PatchCookieDto } from './dto/patch-cookie.dto.js';
import { ReplaceCookieDto } from './dto/replace-cookie.dto.js';

const LIMIT_FAULT = `must be given once, as a whole number from 1 to ${MAX_LIMIT}`;
const ID_FAULT = 'must be a whole number from 1 to 9007199254740991';
const flavorFault = memberFault('/flavor', `must be one of the following values: ${FLAVORS.join(', ')}`);
const strayParameter = parameterFault('limit', 'is not known here; this route takes no parameters');

const wrongQuery: DescribedError = {
  status: 400,
  description: 'A parameter is unknown or not valid',
  examples: {
    value: parameterFault('limit', LIMIT_FAULT),
    name: parameterFault('colour', 'is not known here; known are limit, after, sort, flavor, size'),
  },
};
const wrongId: DescribedError = {
  status: 400,
  description: 'The id is not valid, or there is a parameter that is not known',
  examples: { id: parameterFault('id', ID_FAULT), parameter: strayParameter },
};
const wrongBody: DescribedError = {
  status: 400,
  description: 'The body is malformed, a member of it is missing, unknown or not valid, or a parameter is not known',
  examples: { member: flavorFault, malformed: malformedBody, parameter: strayParameter },
};
const wrongIdOrBody: DescribedError = {
  ...wrongBody,
  description: 'The id is not valid, or the body is malformed, or a member of it is missing, unknown or not valid',
  examples: { ...wrongBody.examples, id: parameterFault('id', ID_FAULT) },
};
const notFound: DescribedError = {
  status: 404,
  description: 'There is no such cookie',
  examples: { absent: { message: 'There is no cookie 1', errorCode: 'COOKIE_NOT_FOUND' } },
};
const stale: DescribedError = {
  status: 412,
  description: 'If-Match or If-None-Match does not hold',
  examples: { changed: { message: 'The record has changed since you read it; read it again and decide anew' } },
};
const excluded: DescribedError = {
  ...stale,
  examples: { ...stale.examples, excluded: { message: 'The record is one that If-None-Match excludes' } },
};
const unconditional: DescribedError = {
  status: 428,
  description: 'The service requires If-Match (`REQUIRE_IF_MATCH`)',
  examples: { absent: { message: 'Send If-Match with the ETag of the record that you mean to change' } },
};
const coding = { message: 'The body must come without a Content-Encoding' };
const wrongType: DescribedError = {
  status: 415,
  description: 'The body is not JSON in UTF-8',
  examples: { type: { message: 'The Content-Type must be application/json, in UTF-8' }, coding },
  headers: ['Accept', 'Accept-Encoding'],
};
const wrongPatchType: DescribedError = {
  ...wrongType,
  examples: {
    type: { message: 'The Content-Type must be application/json or application/merge-patch+json, in UTF-8' },
    coding,
  },
  headers: ['Accept-Patch', 'Accept-Encoding'],
};
const diskFull: DescribedError = {
  status: 507,
  description: 'The volume of the database is full',
  examples: { disk: { message: 'Storage is full', errorCode: 'DISK_FULL' } },
};
const anyFull: DescribedError = {
  status: 507,
  description: 'As many cookies are stored as may be, or the volume of the database is full',
  examples: { full: { message: 'Storage is full', errorCode: 'STORAGE_FULL' }, ...diskFull.examples },
};

const ApiId = (): MethodDecorator =>
  ApiParam({
    name: 'id',
    description: 'The identifier of the cookie',
    schema: { type: 'integer', format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, example: 1 },
  });

const notModified = { status: 304, description: 'You have this version already' };

export const DescribeList = (): MethodDecorator =>
  applyDecorators(
    ApiOperation({
      operationId: 'listCookies',
      summary: 'Retrieve all cookies',
      description: 'All of them by id, or with `limit` a page. Without `limit` the list is never cut short.',
    }),
    ApiReadConditions(),
    ApiResponse({
      status: 200,
      description: 'The cookies',
      type: [CookieDto],
      headers: headers('ETag', 'Link', 'X-Total-Count'),
    }),
    ApiResponse({ ...notModified, headers: headers('ETag', 'X-Total-Count') }),
    ApiErrors('cookies:read', wrongQuery, { ...stale, headers: ['ETag', 'X-Total-Count'] }),
  );

export const DescribeGet = (): MethodDecorator =>
  applyDecorators(
    ApiOperation({ operationId: 'getCookie', summary: 'Retrieve one cookie', description: 'The cookie with this id.' }),
    ApiId(),
    ApiReadConditions(),
    ApiResponse({ status: 200, description: 'The cookie', type: CookieDto, headers: headers('ETag') }),
    ApiResponse({ ...notModified, headers: headers('ETag') }),
    ApiErrors('cookies:read', wrongId, notFound, { ...stale, headers: ['ETag'] }),
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
      headers: headers('Location', 'ETag'),
    }),
    ApiErrors('cookies:write', wrongBody, wrongType, anyFull),
  );

export const DescribeReplace = (): MethodDecorator =>
  applyDecorators(
    ApiOperation({
      operationId: 'replaceCookie',
      summary: 'Replace a cookie',
      description: 'Replaces flavor and size. The wish is not part of this representation and stays as it is.',
    }),
    ApiId(),
    ApiWriteConditions(),
    ApiBody({ type: ReplaceCookieDto }),
    ApiResponse({
      status: 200,
      description: 'The cookie as it is now',
      type: CookieDto,
      headers: headers(),
    }),
    ApiErrors('cookies:write', wrongIdOrBody, notFound, excluded, wrongType, unconditional, diskFull),
  );

export const DescribePatch = (): MethodDecorator =>
  applyDecorators(
    ApiOperation({
      operationId: 'patchCookie',
      summary: 'Partially update a cookie',
      description: [
        'Changes the properties that are sent. An empty object changes nothing.',
        'The body may also come as `application/merge-patch+json`, with the same meaning: see `Accept-Patch`.',
      ].join(' '),
    }),
    ApiId(),
    ApiWriteConditions(),
    ApiBody({ type: PatchCookieDto }),
    ApiResponse({ status: 204, description: 'The cookie is changed', headers: headers('ETag') }),
    ApiErrors('cookies:write', wrongIdOrBody, notFound, excluded, wrongPatchType, unconditional, diskFull),
  );

export const DescribeDelete = (): MethodDecorator =>
  applyDecorators(
    ApiOperation({
      operationId: 'deleteCookie',
      summary: 'Delete a cookie',
      description: 'Frees its place in the storage. A second time it is 404.',
    }),
    ApiId(),
    ApiWriteConditions(),
    ApiResponse({ status: 204, description: 'The cookie is deleted', headers: headers() }),
    ApiErrors('cookies:write', wrongId, notFound, excluded, unconditional, diskFull),
  );
