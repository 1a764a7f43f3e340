// biome-ignore lint/style/noRestrictedImports: nothing is installed where a release signs, so no package has a name
import { systemClock } from '../../libs/base/src/clock.ts'
import { type Descriptor, type Digest, digestOf, MEDIA } from '../tools/layout.ts'

const SECOND = 1000
/** How long one request may take; a layer of 50 MB is the longest. */
const LIMIT = 300 * SECOND
const WAITS: readonly number[] = [1, 2, 4, 8].map((seconds) => seconds * SECOND)
/** What a registry says of something that it does not have. Another 404 is that of something before it. */
const ABSENT = ['MANIFEST_UNKNOWN', 'NAME_UNKNOWN', 'BLOB_UNKNOWN']

export interface Credentials {
  readonly user: string
  readonly token: string
}

export interface RegistryOptions {
  /** `ghcr.io`, `127.0.0.1:5000` */
  readonly host: string
  readonly credentials?: Credentials
  /** Between the tries of one request, in milliseconds. */
  readonly waits?: readonly number[]
}

interface Request {
  readonly method: string
  readonly body?: Buffer
  readonly headers?: Readonly<Record<string, string>>
}

/** What a release stores and tags. `repository` is `owner/name`. */
export interface Storage {
  /** Of what a tag or a digest names; undefined only if the registry says that it has none. */
  digestOf(repository: string, reference: string): Promise<Digest | undefined>
  hasBlob(repository: string, digest: Digest): Promise<boolean>
  putBlob(repository: string, content: Buffer): Promise<void>
  putManifest(repository: string, reference: string, manifest: StoredManifest): Promise<void>
}

export interface StoredManifest {
  readonly mediaType: string
  readonly content: Buffer
}

/** A registry as the OCI distribution specification has it. On this machine it is asked without TLS. */
export class Registry implements Storage {
  readonly #base: string
  readonly #credentials: Credentials | undefined
  readonly #waits: readonly number[]
  readonly #tokens = new Map<string, string>()

  constructor({ host, credentials, waits = WAITS }: RegistryOptions) {
    this.#base = `${/^(?:127\.0\.0\.1|localhost|\[::1\])(?::|$)/.test(host) ? 'http' : 'https'}://${host}`
    this.#credentials = credentials
    this.#waits = waits
  }

  async digestOf(repository: string, reference: string): Promise<Digest | undefined> {
    const manifest = await this.manifest(repository, reference)
    return manifest && digestOf(manifest.content)
  }

  async manifest(repository: string, reference: string): Promise<StoredManifest | undefined> {
    const headers = { accept: [MEDIA.index, MEDIA.manifest].join(', ') }
    const answer = await this.#send(repository, `manifests/${reference}`, { method: 'GET', headers })
    const content = Buffer.from(await answer.arrayBuffer())
    if (isAbsent(answer, content)) return undefined
    await expectStatus(answer, [200], content)
    return { mediaType: answer.headers.get('content-type') ?? '', content }
  }

  async blob(repository: string, { digest }: Descriptor): Promise<Buffer> {
    const answer = await this.#send(repository, `blobs/${digest}`, { method: 'GET' })
    const content = Buffer.from(await answer.arrayBuffer())
    await expectStatus(answer, [200], content)
    if (digestOf(content) !== digest) throw new Error(`${repository}: what the registry gives for ${digest} is another`)
    return content
  }

  /** An answer to HEAD has no body that says who answered: a 404 at worst stores again what is there. */
  async hasBlob(repository: string, digest: Digest): Promise<boolean> {
    const answer = await this.#send(repository, `blobs/${digest}`, { method: 'HEAD' })
    if (answer.status === 404) return false
    await expectStatus(answer, [200])
    return true
  }

  async putBlob(repository: string, content: Buffer): Promise<void> {
    const begun = await this.#send(repository, 'blobs/uploads/', { method: 'POST' })
    await expectStatus(begun, [202])
    const location = begun.headers.get('location')
    if (location === null) throw new Error(`${repository}: the registry does not say where to store a blob`)
    const url = new URL(location, begun.url)
    url.searchParams.set('digest', digestOf(content))
    const headers = { 'content-type': 'application/octet-stream' }
    await expectStatus(await this.#send(repository, url.href, { method: 'PUT', body: content, headers }), [201])
  }

  async putManifest(repository: string, reference: string, { mediaType, content }: StoredManifest): Promise<void> {
    const request = { method: 'PUT', body: content, headers: { 'content-type': mediaType } }
    await expectStatus(await this.#send(repository, `manifests/${reference}`, request), [201])
  }

  /** Tries again what failed on the way or what the registry says it cannot do now. */
  async #send(repository: string, path: string, request: Request): Promise<Response> {
    const url = new URL(path, `${this.#base}/v2/${repository}/`)
    for (const wait of this.#waits) {
      const answer = await this.#sendOnce(repository, url, request).catch((error: unknown) => error as Error)
      if (answer instanceof Response && answer.status < 500 && answer.status !== 429) return answer
      const what = answer instanceof Response ? `status ${answer.status}` : causeOf(answer)
      process.stderr.write(`${request.method} ${url.href}: ${what}; again in ${wait / SECOND} s\n`)
      await systemClock.sleep(wait)
    }
    return this.#sendOnce(repository, url, request)
  }

  async #sendOnce(repository: string, url: URL, request: Request): Promise<Response> {
    const answer = await this.#authorized(repository, url, request)
    const challenge = answer.headers.get('www-authenticate')
    if (answer.status !== 401 || challenge === null || this.#credentials === undefined) return answer
    this.#tokens.set(repository, await this.#tokenFor(challenge, this.#credentials))
    return this.#authorized(repository, url, request)
  }

  #authorized(repository: string, url: URL, { method, body, headers }: Request): Promise<Response> {
    const token = this.#tokens.get(repository)
    const sent = { ...headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) }
    const signal = AbortSignal.timeout(LIMIT)
    return fetch(url, { method, headers: sent, signal, ...(body !== undefined && { body: new Uint8Array(body) }) })
  }

  async #tokenFor(challenge: string, { user, token }: Credentials): Promise<string> {
    const fields = Object.fromEntries([...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [key, value]))
    const url = new URL(String(fields['realm']))
    for (const key of ['service', 'scope']) if (fields[key] !== undefined) url.searchParams.set(key, fields[key])
    const authorization = `Basic ${Buffer.from(`${user}:${token}`).toString('base64')}`
    const answer = await fetch(url, { headers: { authorization }, signal: AbortSignal.timeout(LIMIT) })
    await expectStatus(answer, [200])
    const { token: given } = (await answer.json()) as { readonly token?: string }
    if (given === undefined) throw new Error(`${url.host} gives no token`)
    return given
  }
}

function isAbsent({ status }: Response, content: Buffer): boolean {
  if (status !== 404) return false
  return ABSENT.some((code) => content.includes(`"${code}"`))
}

async function expectStatus(answer: Response, statuses: readonly number[], read?: Buffer): Promise<void> {
  if (statuses.includes(answer.status)) return
  const text = read?.toString() ?? (await answer.text())
  throw new Error(`${answer.url}: the registry answers ${answer.status}: ${text.slice(0, 300).trim()}`)
}

function causeOf(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : error.message
}
