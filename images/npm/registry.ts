import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Archive {
  readonly file: string
  readonly content: Buffer
  /** The package.json inside. */
  readonly manifest: { readonly name: string; readonly version: string }
}

/** A registry of npm on loopback with these packages. What it does not have, clients get from the other registry. */
export class NpmRegistry implements AsyncDisposable {
  readonly #server: Server
  readonly #archives: ReadonlyMap<string, Archive>
  readonly #others: string

  private constructor(archives: readonly Archive[], others: string) {
    this.#archives = new Map(archives.map((archive) => [archive.manifest.name, archive]))
    this.#others = others
    this.#server = createServer((request, response) => this.#answer(request, response))
  }

  static async start(archives: readonly Archive[], others: string): Promise<NpmRegistry> {
    const registry = new NpmRegistry(archives, others)
    const listening = Promise.withResolvers<void>()
    registry.#server.once('error', listening.reject)
    registry.#server.listen(0, '127.0.0.1', listening.resolve)
    await listening.promise
    return registry
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = Promise.withResolvers<void>()
    this.#server.close(() => closed.resolve())
    this.#server.closeAllConnections()
    await closed.promise
  }

  #answer({ url = '/' }: IncomingMessage, response: ServerResponse): void {
    const path = decodeURIComponent(new URL(url, this.url).pathname).slice(1)
    const archive = this.#archives.get(path) ?? [...this.#archives.values()].find(({ file }) => file === path)
    if (archive === undefined) {
      response.writeHead(307, { location: new URL(path, this.#others).href }).end()
    } else if (archive.file === path) {
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(archive.content)
    } else {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(this.#documentOf(archive)))
    }
  }

  /** What npm reads of a package before it fetches the archive. */
  #documentOf({ file, content, manifest }: Archive): object {
    const integrity = `sha512-${createHash('sha512').update(content).digest('base64')}`
    const { name, version } = manifest
    const dist = { tarball: new URL(file, this.url).href, integrity }
    return { name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } } }
  }
}
