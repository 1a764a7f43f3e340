import type { IncomingMessage } from 'node:http'

/**
 * Whether a request comes from a page of ours. A name that somebody else's server points to this address is not ours:
 * its page could read the answers. And what changes something is taken from a page that we have served, not from one
 * that only knows our port.
 */
export function isAdmitted({ method, headers }: IncomingMessage, port: number): boolean {
  const host = headers.host ?? ''
  if (host !== `127.0.0.1:${port}` && host !== `localhost:${port}`) return false
  if (method === 'GET') return true
  if (method !== 'POST' || headers.origin !== `http://${host}`) return false
  const site = headers['sec-fetch-site']
  // Another site can send a form, but not this type without having asked first.
  return (site === undefined || site === 'same-origin') && headers['content-type'] === 'application/json'
}

const MOST_BYTES = 16 * 1024

/** The body as JSON; undefined for one that is too long, or is none. What is too long is not read to its end. */
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
