import { isObject, type Json, type JsonMap } from '../schema/json.ts'
import { ApiFailure, badRequest } from './api-failure.ts'
import type { HttpRequest } from './exchange.ts'

/** The largest body that kube-apiserver accepts. */
const MAX_BODY_BYTES = 3 * 1024 * 1024

/** Reads the body of a request. Throws 413 as soon as the body is longer than the limit. */
export async function readBody(request: HttpRequest, limit = MAX_BODY_BYTES): Promise<Buffer> {
  const announced = Number(request.headers['content-length'] ?? 0)
  if (announced > limit) throw tooLarge(limit)
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request) {
    length += (chunk as Buffer).length
    if (length > limit) throw tooLarge(limit)
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks)
}

function tooLarge(limit: number): ApiFailure {
  return new ApiFailure('RequestEntityTooLarge', `Request entity too large: limit is ${limit}`)
}

export function parseJson(body: Buffer): Json {
  try {
    return JSON.parse(body.toString('utf8')) as Json
  } catch (cause) {
    const failure = badRequest(`couldn't get version/kind; json parse error: ${(cause as Error).message}`)
    throw Object.assign(failure, { cause })
  }
}

export function parseObject(body: Buffer): JsonMap {
  const value = parseJson(body)
  if (isObject(value)) return value
  throw badRequest(
    `couldn't get version/kind; json parse error: json: cannot unmarshal ${Array.isArray(value) ? 'array' : typeof value} into Go value`,
  )
}

/** Returns the media type in a header, without its parameters. */
export function mediaType(header: string | undefined): string {
  return (header ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
}
