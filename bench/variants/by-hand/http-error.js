export class HttpError extends Error {
  constructor(statusCode, errorCode, message) {
    super(message);
    Object.assign(this, { statusCode, errorCode });
  }
}
