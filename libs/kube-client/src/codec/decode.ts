import type { Resource } from '@csi-sidecars/kube-types'
import { ApiError } from '../api/api-error.ts'
import type { ApiRequest } from '../api/request.ts'

const KEY = ',"managedFields":[{'
/** The end of the list of managers, known by what follows: the metadata's next member, or the outer object's. */
const END = /\}\](?:,"[A-Za-z]|\},"[A-Za-z]|\}\})/g
/** Of a match, what belongs to the list. */
const CLOSING = 2

/**
 * The text without its objects' managedFields: no controller reads them, and they are up to half of what is parsed.
 *
 * A quote inside a JSON string is always written `\"`. So the key, with its bare quotes, is a key; and no string
 * continues with a letter right after a bare quote that follows a comma, so an end with such a quote is the end: before
 * it there are only objects, and brackets at most in strings. Where `}}` follows, the brackets may be in a string, and
 * that list is kept.
 */
export function withoutManagedFields(text: string): string {
  let kept = ''
  let from = 0
  for (let key = text.indexOf(KEY); key >= 0; key = text.indexOf(KEY, END.lastIndex)) {
    END.lastIndex = key + KEY.length
    const end = END.exec(text)
    if (end === null) break
    if (end[0].endsWith('}}')) continue
    kept += text.slice(from, key)
    from = end.index + CLOSING
    END.lastIndex = from
  }
  return from === 0 ? text : kept + text.slice(from)
}

/** The JSON value of an answer or of a line of a stream, without managedFields. Throws SyntaxError. */
export function parseJson(text: string): unknown {
  const shorter = withoutManagedFields(text)
  if (shorter.length === text.length) return JSON.parse(text)
  try {
    return JSON.parse(shorter)
  } catch {
    // Not an API server's way of writing. Costs time only.
    return JSON.parse(text)
  }
}

/**
 * Throws ApiError: an answer that is no JSON, or of a resource and no object of it, comes from something that is no API
 * server. Nothing is known then about what was asked for.
 */
export function parseAnswer<T>(
  text: string,
  { path, method, resource }: Pick<ApiRequest, 'path' | 'method' | 'resource'>,
): T {
  let answer: unknown
  try {
    answer = parseJson(text)
  } catch {
    throw undecodable(notJson(text))
  }
  if (resource !== undefined && !isObjectOf(resource, answer)) throw undecodable('JSON that is no object of the API')
  return answer as T

  function undecodable(what: string): ApiError {
    const message = `couldn't decode the answer to ${path}: ${what}`
    return new ApiError({ code: 0, reason: '', message, outcomeUnknown: method !== 'GET' })
  }
}

function isObjectOf({ kept }: Resource<unknown>, answer: unknown): boolean {
  if (typeof answer !== 'object' || answer === null) return false
  if (kept === false) return 'status' in answer && typeof answer.status === 'object' && answer.status !== null
  if (!('metadata' in answer)) return false
  const { metadata } = answer
  return typeof metadata === 'object' && metadata !== null && 'name' in metadata && typeof metadata.name === 'string'
}

/**
 * What a text is that is no JSON. Nothing of the text itself, and not V8's error, which quotes it: it may hold a secret,
 * and what is said here ends up in logs and in objects that many may read.
 */
export function notJson(text: string): string {
  return /^\s*</.test(text)
    ? `${text.length} characters of HTML, not JSON`
    : `${text.length} characters that are no JSON`
}
