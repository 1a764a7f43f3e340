import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { freePort } from '@csi-sidecars/emulator'
import type { Cluster, User } from '../../e2e/harness/api/cluster.ts'
import { kubeconfigOf } from '../../e2e/harness/context.ts'
import type { FakeDriver } from '../../e2e/harness/driver/driver.ts'
import { type Memory, memoryOf } from '../../e2e/harness/process/memory.ts'
import { type Exit, stop } from '../../e2e/harness/process/processes.ts'
import { Sidecar } from '../../e2e/harness/process/sidecar.ts'
import type { TestedApp } from '../../e2e/harness/subject.ts'
import { eventually, pause } from '../../e2e/harness/waiting.ts'
import type { Side } from './figures.ts'

/** One request from the audit log of kube-apiserver. */
export interface NotedRequest {
  readonly verb: string
  readonly resource: string
  /** The wall time of the request's arrival, in milliseconds. */
  readonly time: number
  readonly code: number
}

/** The sidecar that a benchmark starts, and the driver that it calls. `args` follow the usual flags. */
export interface SubjectOptions {
  readonly side: Side
  readonly app: TestedApp
  /** The controllers of one process, if several: attacher and resizer, or all of a pod. For our sidecars only. */
  readonly together?: 'both' | 'pod' | undefined
  readonly driver: FakeDriver
  readonly args?: readonly string[]
  /** The host name, from which the replica derives its identity in the Lease. */
  readonly hostname?: string
  /** Default: `default`. */
  readonly leaseNamespace?: string
}

const TICKS_PER_SECOND = 100

/** The resources that a process has used so far. */
export interface Cost extends Memory {
  readonly cpuSeconds: number
}

/** Reads the memory and the CPU time of a running process from /proc. */
function costOf(pid: number): Cost {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { ...memoryOf(pid), cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND }
}

/** The audit policy records only metadata. That is enough to count requests, and cheaper than bodies. */
export const AUDIT_POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived', 'ResponseStarted'],
  rules: [{ level: 'None', users: ['system:apiserver', 'admin'] }, { level: 'Metadata' }],
}

/** Parses lines of the audit log. A watch is logged when it ends, with the time at which it began. */
function notedRequests(lines: readonly string[]): NotedRequest[] {
  return lines.map((line) => {
    const { verb, objectRef, requestReceivedTimestamp, responseStatus } = JSON.parse(line) as AuditLine
    const { resource = '', subresource } = objectRef ?? {}
    return {
      verb,
      resource: subresource === undefined ? resource : `${resource}/${subresource}`,
      time: microtime(requestReceivedTimestamp),
      code: responseStatus?.code ?? 0,
    }
  })
}

/** Reports whether a request writes an object other than a Lease or an event. */
export function isWork({ verb, resource }: NotedRequest): boolean {
  return isWrite(verb) && resource !== 'leases' && resource !== 'events'
}

export function isWrite(verb: string): boolean {
  return verb === 'create' || verb === 'update' || verb === 'patch' || verb === 'delete'
}

interface AuditLine {
  readonly verb: string
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string }
  readonly requestReceivedTimestamp: string
  readonly responseStatus?: { readonly code?: number }
}

/** Parses a time such as `2026-01-02T03:04:05.678901Z` with its microseconds, which `Date.parse` drops. */
function microtime(text: string): number {
  const [, micros = '0'] = /\.\d{3}(\d{1,3})/.exec(text) ?? []
  return Date.parse(text) + Number(micros.padEnd(3, '0')) / 1000
}

interface Surroundings {
  readonly cluster: Cluster
  readonly folder: string
  readonly executable: string
  readonly log: string
  readonly profiles: string | undefined
}

/** The time after SIGTERM until a sidecar that is still running is killed. */
const ENDING_MS = 3000
/** The delay before reading the audit log, because the API server logs a request after the answer. */
const NOTED_MS = 500

/** A measured sidecar process. It connects to the API server directly, without a proxy. */
export class Measured {
  readonly side: Side
  readonly app: TestedApp
  readonly driver: FakeDriver
  readonly sidecar: Sidecar
  readonly #user: User
  readonly #surroundings: Surroundings

  private constructor(
    { side, app, driver }: SubjectOptions,
    started: { sidecar: Sidecar; user: User },
    at: Surroundings,
  ) {
    this.side = side
    this.app = app
    this.driver = driver
    this.sidecar = started.sidecar
    this.#user = started.user
    this.#surroundings = at
  }

  static async start(options: SubjectOptions, at: Surroundings): Promise<Measured> {
    const { side, app, together, driver, args = [], hostname, leaseNamespace = 'default' } = options
    const { url, ca } = at.cluster
    const user = at.cluster.user(together ?? app)
    const kubeconfig = join(at.folder, `${user.name}.json`)
    writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(url, ca, { token: user.token })))
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
      // Our image sets this variable, so that all threads allocate from one heap.
      env: side === 'ours' ? { MALLOC_ARENA_MAX: '1' } : {},
      hostname,
    })
    return new Measured(options, { sidecar, user }, at)
  }

  cost(): Cost {
    this.mustRun()
    return costOf(this.sidecar.pid)
  }

  /** Returns all requests of the sidecar that the API server has answered so far. */
  async requests(): Promise<NotedRequest[]> {
    await pause(NOTED_MS)
    return notedRequests(this.#surroundings.cluster.auditOf([this.#user]))
  }

  /** Throws an error with the last log lines if the sidecar has ended. */
  mustRun(): void {
    const { exit } = this.sidecar
    if (exit !== undefined) throw this.#ended(exit)
  }

  /** Calls `look` until it returns a result. Fails early if the sidecar ends first. */
  async until<T>(description: string, check: () => Promise<T | false | undefined>, within = 30_000): Promise<T> {
    const gone = this.sidecar.exited.then((exit) => {
      throw this.#ended(exit)
    })
    const seen = eventually(`${this.side} ${this.app}: ${description}`, check, { within, every: 20 })
    return await Promise.race([seen, gone])
  }

  /** Ends the sidecar by SIGTERM, so that it releases its Lease and writes its CPU profile. */
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
    writeFileSync(this.#surroundings.log, `${args.join(' ')}\n${JSON.stringify(exit)}\n\n${stderr}`)
  }
}

export async function stopAll(subjects: readonly Measured[]): Promise<void> {
  await Promise.all(subjects.map((subject) => subject.stop()))
}

/** Returns the cost of several processes together. */
export function totalOf(subjects: readonly Measured[], figure: keyof Cost): number {
  return subjects.reduce((total, subject) => total + subject.cost()[figure], 0)
}

function program({ executable, profiles }: Surroundings): { binary: string; first: readonly string[] } {
  if (profiles === undefined) return { binary: executable, first: [] }
  // The bundle runs with the Node options that its executable has built in.
  const { execArgv } = JSON.parse(readFileSync(join(dirname(executable), 'sea.json'), 'utf8')) as { execArgv: string[] }
  const profiling = ['--cpu-prof', `--cpu-prof-dir=${profiles}`, '--cpu-prof-interval=250']
  return { binary: process.execPath, first: [...execArgv, ...profiling, executable] }
}
