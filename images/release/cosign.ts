import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { isDeepStrictEqual, promisify } from 'node:util'
import { SIGNATURE, type Signer, type Statement } from './signer.ts'

const run = promisify(execFile)
const LIMIT = 5 * 60_000
const MOST_BYTES = 256 * 1024 * 1024

/** How cosign is called: a rehearsal signs with a key of its own, a release without a long-lived one. */
export interface CosignOptions {
  readonly program: string
  /** What `sign`, `attest` and `sign-blob` get. */
  readonly signing: readonly string[]
  /** What `verify`, `verify-attestation` and `verify-blob` get: who must have signed. */
  readonly verifying: readonly string[]
  /** What every command about a registry gets. */
  readonly registry: readonly string[]
}

/** A release: signed by the workflow that runs, at the tag for which it runs, without a long-lived key. */
export function keyless(home: string): CosignOptions {
  const identity = `^https://github\\.com/${home.replaceAll('.', '\\.')}/\\.github/workflows/release\\.yml@refs/tags/v`
  const issuer = 'https://token.actions.githubusercontent.com'
  return {
    program: 'cosign',
    signing: [],
    verifying: ['--certificate-oidc-issuer', issuer, '--certificate-identity-regexp', identity],
    registry: [],
  }
}

/** cosign, as a program. */
export class Cosign implements Signer {
  readonly options: CosignOptions

  constructor(options: CosignOptions) {
    this.options = options
  }

  async isSigned(subject: string): Promise<boolean> {
    const { verifying, registry } = this.options
    return (await this.#tried(['verify', ...verifying, ...registry, subject])) !== undefined
  }

  async sign(subject: string): Promise<void> {
    const { signing, registry } = this.options
    await this.#done(['sign', '--yes', ...signing, ...registry, subject])
  }

  async isAttested(subject: string, { type, file }: Statement): Promise<boolean> {
    const { verifying, registry } = this.options
    const found = await this.#tried(['verify-attestation', '--type', type, ...verifying, ...registry, subject])
    return found !== undefined && attests(found, JSON.parse(readFileSync(file, 'utf8')))
  }

  async attest(subject: string, { type, file }: Statement): Promise<void> {
    const { signing, registry } = this.options
    await this.#done(['attest', '--yes', '--type', type, '--predicate', file, ...signing, ...registry, subject])
  }

  async signFile(file: string): Promise<void> {
    const [bundle, { signing, verifying }] = [`${file}${SIGNATURE}`, this.options]
    if (existsSync(bundle) && (await this.#tried(['verify-blob', '--bundle', bundle, ...verifying, file]))) return
    await this.#done(['sign-blob', '--yes', '--bundle', bundle, ...signing, file])
  }

  async #done(args: readonly string[]): Promise<void> {
    await run(this.options.program, args, { timeout: LIMIT, maxBuffer: MOST_BYTES })
  }

  /**
   * What a verification prints; undefined if it fails. A failure on the way counts as not signed: at worst something is
   * signed twice, which changes no digest.
   */
  async #tried(args: readonly string[]): Promise<string | undefined> {
    try {
      return (await run(this.options.program, args, { timeout: LIMIT, maxBuffer: MOST_BYTES })).stdout
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw error
      return undefined
    }
  }
}

/** Whether one of the verified statements, a line of JSON each, says exactly that. */
export function attests(verified: string, predicate: unknown): boolean {
  const lines = verified.split('\n').filter((line) => line.startsWith('{'))
  return lines.some((line) => {
    const { payload } = JSON.parse(line) as { readonly payload: string }
    const statement = JSON.parse(Buffer.from(payload, 'base64').toString()) as { readonly predicate: unknown }
    return isDeepStrictEqual(statement.predicate, predicate)
  })
}
