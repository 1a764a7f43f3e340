import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { freePort } from '@csi-sidecars/emulator'
import type { Cluster, User } from '../../e2e/harness/api/cluster.ts'
import { kubeconfigOf } from '../../e2e/harness/context.ts'
import type { Driver } from '../../e2e/harness/driver/driver.ts'
import { type Exit, stop } from '../../e2e/harness/process/processes.ts'
import { Sidecar } from '../../e2e/harness/process/sidecar.ts'
import type { App } from '../../e2e/harness/subject.ts'
import { eventually, pause } from '../../e2e/harness/waiting.ts'
import { type Cost, costOf } from '../process-cost.ts'
import { type NotedRequest, notedRequests } from './audit.ts'
import type { Side } from './side.ts'

export interface SubjectOptions {
  readonly side: Side
  readonly app: App
  /** Several controllers in one process, which only ours can: attacher and resizer, or those of a whole pod. */
  readonly together?: 'both' | 'pod' | undefined
  readonly driver: Driver
  readonly args?: readonly string[]
  /** Replicas know each other by their host names. */
  readonly hostname?: string
  readonly leaseNamespace?: string
  /** A door to the API server; it shows the server's certificate. */
  readonly server?: string
}

interface Surroundings {
  readonly cluster: Cluster
  readonly folder: string
  readonly executable: string
  readonly log: string
  readonly profiles: string | undefined
}

/** How long a sidecar may take to end by itself before it is killed. */
const ENDING_MS = 3000
/** The server notes a request after it has answered, and a watch after the connection is gone. */
const NOTED_MS = 500

/** One sidecar under measurement, without anything between it and the API server. */
export class Subject {
  readonly side: Side
  readonly app: App
  readonly driver: Driver
  readonly sidecar: Sidecar
  readonly #user: User
  readonly #around: Surroundings

  private constructor(
    { side, app, driver }: SubjectOptions,
    parts: { sidecar: Sidecar; user: User },
    at: Surroundings,
  ) {
    this.side = side
    this.app = app
    this.driver = driver
    this.sidecar = parts.sidecar
    this.#user = parts.user
    this.#around = at
  }

  static async start(options: SubjectOptions, at: Surroundings): Promise<Subject> {
    const { side, app, together, driver, args = [], hostname, leaseNamespace = 'default' } = options
    const { url, ca } = at.cluster
    const user = at.cluster.user(together ?? app)
    const kubeconfig = join(at.folder, `${user.name}.json`)
    writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(options.server ?? url, ca, { token: user.token })))
    const port = await freePort()
    const usual = [
      `--kubeconfig=${kubeconfig}`,
      `--csi-address=${driver.socket}`,
      `--http-endpoint=127.0.0.1:${port}`,
      '--leader-election',
      `--leader-election-namespace=${leaseNamespace}`,
    ]
    const { binary, first } = program(at)
    const sidecar = new Sidecar({
      binary,
      args: [...first, ...usual, ...args],
      port,
      // The setting of the image: one heap for all threads of the C library.
      env: side === 'ours' ? { MALLOC_ARENA_MAX: '1' } : {},
      hostname,
    })
    return new Subject(options, { sidecar, user }, at)
  }

  get userName(): string {
    return this.#user.name
  }

  cost(): Cost {
    this.mustRun()
    return costOf(this.sidecar.pid)
  }

  /** All its requests that are answered by now. */
  async requests(): Promise<NotedRequest[]> {
    await pause(NOTED_MS)
    return notedRequests(this.#around.cluster.auditOf([this.#user]))
  }

  /** Throws with its last lines when it has ended. */
  mustRun(): void {
    const { exit } = this.sidecar
    if (exit !== undefined) throw this.#ended(exit)
  }

  /** Waits until `look` succeeds. Fails early if the process ends first. */
  async until<T>(what: string, look: () => Promise<T | false | undefined>, within = 30_000): Promise<T> {
    const gone = this.sidecar.exited.then((exit) => {
      throw this.#ended(exit)
    })
    const seen = eventually(`${this.side} ${this.app}: ${what}`, look, { within, every: 20 })
    return await Promise.race([seen, gone])
  }

  /** Ends it as a rollout does, so that the lease is free and the profile is written. */
  async stop(): Promise<void> {
    this.mustRun()
    this.sidecar.signal('SIGTERM')
    const ended = await Promise.race([this.sidecar.exited, pause(ENDING_MS, undefined, { ref: false })])
    if (ended === undefined) await this.kill()
    this.#keepLog()
  }

  async kill(): Promise<void> {
    await stop(this.sidecar.process)
    this.#keepLog()
  }

  #ended({ code, signal }: Exit): Error {
    const lastLogLine = this.sidecar.lines.slice(-2).join(' / ')
    return new Error(`${this.side} ${this.app} ended with ${signal ?? `code ${code}`}: ${lastLogLine}`)
  }

  #keepLog(): void {
    const { args, exit, stderr } = this.sidecar
    writeFileSync(this.#around.log, `${args.join(' ')}\n${JSON.stringify(exit)}\n\n${stderr}`)
  }
}

function program({ executable, profiles }: Surroundings): { binary: string; first: readonly string[] } {
  if (profiles === undefined) return { binary: executable, first: [] }
  // The bundle itself, with what its executable has built in.
  const { execArgv } = JSON.parse(readFileSync(join(dirname(executable), 'sea.json'), 'utf8')) as { execArgv: string[] }
  const profiling = ['--cpu-prof', `--cpu-prof-dir=${profiles}`, '--cpu-prof-interval=250']
  return { binary: process.execPath, first: [...execArgv, ...profiling, executable] }
}
