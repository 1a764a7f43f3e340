import { readFile } from 'node:fs/promises'
import type { Clock } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'
import { type Authorization, bearer, type Credentials } from './cluster-config.ts'
import { fileError } from './trusted-roots.ts'

/** The time after which the file is read again. The kubelet renews a token long before it expires. */
const REREAD_AFTER_MS = 60_000

/**
 * A token in a file that another process renews. It is read again each minute and if the server refuses it. If the file
 * cannot be read, the old token stays in use.
 */
export class TokenFile implements Credentials {
  readonly #path: string
  readonly #clock: Clock
  readonly #log: Logger
  #current: Authorization
  #readAt: number
  #reading: Promise<void> | undefined

  /** Reads the file for the first time. Throws if it contains no token. */
  static async open(path: string, options: { clock: Clock; log: Logger }): Promise<TokenFile> {
    return new TokenFile(path, await readToken(path), options)
  }

  private constructor(path: string, token: string, options: { clock: Clock; log: Logger }) {
    this.#path = path
    this.#clock = options.clock
    this.#log = options.log
    this.#current = bearer(token)
    this.#readAt = options.clock.monotonic()
  }

  authorization(): Authorization | Promise<Authorization> {
    if (this.#clock.monotonic() - this.#readAt < REREAD_AFTER_MS) return this.#current
    return this.#reread().then(() => this.#current)
  }

  async replaceRefused(rejected: Authorization): Promise<boolean> {
    if (rejected === this.#current) await this.#reread()
    return rejected !== this.#current
  }

  certificate(): undefined {
    return undefined
  }

  /** Reads the file again. Simultaneous callers share one read. */
  #reread(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #read(): Promise<void> {
    try {
      this.#current = bearer(await readToken(this.#path))
    } catch (error) {
      this.#log.error(error, 'Unable to rotate token')
    }
    this.#readAt = this.#clock.monotonic()
  }
}

async function readToken(path: string): Promise<string> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw new Error(`failed to read token file ${JSON.stringify(path)}: ${fileError(error, path).message}`)
  }
  const token = text.trim()
  if (token === '') throw new Error(`read empty token from file ${JSON.stringify(path)}`)
  return token
}
