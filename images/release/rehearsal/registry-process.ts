import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { systemClock } from '@csi-sidecars/base'
import { build } from '../../../testing/e2e/tools/binaries.ts'
import { ROOT } from '../../tools/bundle.ts'

const TRIES = 100
const PAUSE = 100

/** A registry of another project on loopback, in memory. It ends with its value. */
export class RegistryProcess implements AsyncDisposable {
  /** The program that also reads images from it. */
  readonly crane: string
  readonly host: string
  readonly #child: ChildProcess

  private constructor(crane: string, host: string) {
    this.crane = crane
    this.host = host
    this.#child = spawn(crane, ['registry', 'serve', '--address', host], { stdio: 'ignore' })
  }

  static async start(): Promise<RegistryProcess> {
    const started = new RegistryProcess(build(ROOT, 'crane'), `127.0.0.1:${await freePort()}`)
    for (let tries = 0; tries < TRIES; tries += 1) {
      const answer = await fetch(`http://${started.host}/v2/`).catch(() => undefined)
      if (answer?.ok) return started
      await systemClock.sleep(PAUSE)
    }
    await started[Symbol.asyncDispose]()
    throw new Error(`the registry does not answer on ${started.host}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await ended
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}
