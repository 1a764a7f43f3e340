import type { Resource } from '@csi-sidecars/kube-types'
import { ApiError } from '../api/api-error.ts'
import type { ApiRequest } from '../api/client.ts'

const KEY = ',"managedFields":[{'
/** Matches the end of the list `managedFields` in a JSON text, and the beginning of the text after it. */
const END = /\}\](?:,"[A-Za-z]|\},"[A-Za-z]|\}\})/g
/** The length of `}]`, with which each match of the expression `END` begins. */
const CLOSING = 2

/**
 * Returns a JSON text without `managedFields`, which no controller reads and which are up to half of the text.
 *
 * The list ends at a `}]` with the key of the next field after it, such as `}],"n`. A JSON string cannot contain this
 * text, because it escapes quotes. A list before `}}` is kept, because a string may contain `}]}}`.
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

/** Parses the JSON of an answer or of a line of a watch, without `managedFields`. Throws SyntaxError. */
export function parseJson(text: string): unknown {
  const shorter = withoutManagedFields(text)
  if (shorter.length === text.length) return JSON.parse(text)
  try {
    return JSON.parse(shorter)
  } catch {
    // The text is not valid JSON without `managedFields`, so it is parsed unchanged.
    return JSON.parse(text)
  }
}

/**
 * Parses the answer to a request. Throws ApiError if it is not JSON or not an object of the requested resource. Such an
 * answer does not come from an API server, so the outcome of the request is unknown.
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

  function undecodable(subject: string): ApiError {
    const message = `couldn't decode the answer to ${path}: ${subject}`
    return new ApiError({ code: 0, reason: '', message, outcomeUnknown: method !== 'GET' })
  }
}

function isObjectOf({ isStored }: Resource<unknown>, answer: unknown): boolean {
  if (typeof answer !== 'object' || answer === null) return false
  if (isStored === false) return 'status' in answer && typeof answer.status === 'object' && answer.status !== null
  if (!('metadata' in answer)) return false
  const { metadata } = answer
  return typeof metadata === 'object' && metadata !== null && 'name' in metadata && typeof metadata.name === 'string'
}

/**
 * Describes a text that is not JSON. Does not quote the text or V8's error, because they may contain a secret and the
 * description reaches logs and objects.
 */
export function notJson(text: string): string {
  return /^\s*</.test(text)
    ? `${text.length} characters of HTML, not JSON`
    : `${text.length} characters that are no JSON`
}
