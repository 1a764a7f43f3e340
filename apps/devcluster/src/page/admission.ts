import type { IncomingMessage } from 'node:http'
import { isFromOtherSite, isOwnHost } from '@csi-sidecars/emulator'

/**
 * Reports whether the page's server accepts a request. A link on another site may open the page, but only requests of
 * the page itself may perform actions.
 */
export function isAdmitted({ method, headers }: IncomingMessage): boolean {
  if (!isOwnHost(headers)) return false
  if (method === 'GET') return true
  if (method !== 'POST' || headers.origin === undefined || isFromOtherSite(headers, 'http')) return false
  // A page of another site can send a form, but it cannot send JSON without a preflight request.
  return headers['content-type'] === 'application/json'
}

const MOST_BYTES = 16 * 1024

/** Returns the parsed JSON body. Undefined if it is no JSON or longer than 16 KiB. The rest is then not read. */
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
