import type { IncomingMessage } from 'node:http'
import { isFromOtherSite, isOwnHost } from '@csi-sidecars/emulator'

/**
 * Whether a request comes from a page that this server has served. A link of another site may open the page, but only
 * the page itself changes something.
 */
export function isAdmitted({ method, headers }: IncomingMessage): boolean {
  if (!isOwnHost(headers)) return false
  if (method === 'GET') return true
  if (method !== 'POST' || headers.origin === undefined || isFromOtherSite(headers, 'http')) return false
  // Another site can send a form, but not this type without a preflight request.
  return headers['content-type'] === 'application/json'
}

const MOST_BYTES = 16 * 1024

/** The body as JSON. Undefined if it is no JSON or too long. A body that is too long is not read to its end. */
export async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const text = await textOf(request)
  try {
    return text === undefined ? undefined : (JSON.parse(text) as unknown)
  } catch {
    return undefined
  }
}

function textOf(request: IncomingMessage): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    request.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length > MOST_BYTES) resolve(undefined)
      else chunks.push(chunk)
    })
    request.once('end', () => resolve(Buffer.concat(chunks).toString('utf8')))
    request.once('error', reject)
  })
}
