import { isDeepStrictEqual } from 'node:util'
import { CancelledError, scope, systemClock } from '@csi-sidecars/base'
import { type CodeName, type DriverCall, DriverFailure, type LoggedRequest } from '@csi-sidecars/emulator'
import { type ClusterOptions, type EmulatedCluster, startCluster } from './cluster.ts'

/** An expected CSI call, and the driver's answer to it. */
export interface ExpectedCall {
  readonly call: string
  /** Fields that the request must have with exactly these values. Other fields are ignored. */
  readonly request?: Readonly<Record<string, unknown>>
  /** The reply to send. Without `reply` and `fail`, the emulated driver answers the call normally. */
  readonly reply?: object
  readonly fail?: readonly [CodeName, string]
}

/** An expected write to the API server, such as `PATCH volumeattachments/va-1/status`. */
export interface ExpectedWrite {
  readonly write: string
  /** The whole body of the request. `ANY` matches any value. */
  readonly body?: unknown
  /** The expected HTTP code. Default: 200 or 201. */
  readonly code?: number
}

export type ScenarioStep = ExpectedCall | ExpectedWrite

/** A program, the actions of other clients, and the exact calls and writes that the program must make. */
export interface ScenarioScript {
  readonly initial?: ClusterOptions
  /** The program under test. It runs until the signal is aborted, at the same time as `when`. */
  readonly run: (cluster: EmulatedCluster, signal: AbortSignal) => Promise<void>
  /** The actions of other clients. */
  readonly when?: (cluster: EmulatedCluster) => Promise<void> | void
  /** All expected driver calls and API server writes, in order. Driver discovery, Leases and events are ignored. */
  readonly steps: readonly ScenarioStep[]
  /** Driver calls that `steps` does not list, because they may come at any time: for example ListVolumes. */
  readonly ignoreCalls?: readonly string[]
  /** Checks the state of the cluster after the last step. */
  readonly check?: (cluster: EmulatedCluster) => void
  /** The time limit for all steps after `when` has ended. Default: 5,000. */
  readonly timeoutMs?: number
}

/** Matches any value in an expected body. */
export const ANY = Symbol('any value')

/** The time after the last step in which no further call or write may happen. */
const QUIET_MS = 40
const DISCOVERY = [
  'GetPluginInfo',
  'GetPluginCapabilities',
  'Probe',
  'ControllerGetCapabilities',
  'NodeGetCapabilities',
]

/**
 * Runs a program on a fresh cluster and compares its calls and writes with the script. Throws at the first difference,
 * with the expected and the actual step. An unexpected call is refused and fails the scenario.
 */
export async function runScenario(scenario: ScenarioScript): Promise<void> {
  await using cluster = await startCluster(scenario.initial)
  const script = new Script(scenario, cluster)
  using run = scope()
  const running = scenario.run(cluster, run.signal)
  const broke = Promise.withResolvers<never>()
  running.catch(broke.reject)
  try {
    await Promise.race([broke.promise, happen(scenario, cluster, script)])
  } finally {
    run.abort(new CancelledError('the scenario is over'))
    await running.catch(() => undefined)
    script.close()
  }
  // Unexpected requests during the program's shutdown also fail the scenario.
  script.throwIfBroken()
  scenario.check?.(cluster)
}

async function happen(scenario: ScenarioScript, cluster: EmulatedCluster, script: Script): Promise<void> {
  await scenario.when?.(cluster)
  const { timeoutMs = 5_000 } = scenario
  const cancel = systemClock.schedule(timeoutMs, () => script.giveUp(timeoutMs))
  try {
    await script.done
  } finally {
    cancel()
  }
  await systemClock.sleep(QUIET_MS)
  script.throwIfBroken()
}

/** Compares calls and writes with the steps of a scenario. */
class Script {
  readonly #steps: readonly ScenarioStep[]
  readonly #seen: string[] = []
  readonly #finished = Promise.withResolvers<void>()
  readonly #leave: (() => void)[] = []
  readonly #ignored: ReadonlySet<string>
  readonly #started = new WeakSet<DriverCall>()
  #next = 0
  #broken: Error | undefined

  constructor(scenario: ScenarioScript, cluster: EmulatedCluster) {
    this.#steps = scenario.steps
    this.#ignored = new Set([...DISCOVERY, ...(scenario.ignoreCalls ?? [])])
    // An unhandled rejection must not end the process, because `throwIfBroken` also reports the error.
    this.#finished.promise.catch(() => undefined)
    const counts = (request: LoggedRequest, ended: boolean): boolean =>
      ended &&
      request.code !== 0 &&
      ['POST', 'PUT', 'PATCH', 'DELETE'].includes(request.method) &&
      !['leases', 'events'].includes(request.resource)
    this.#leave.push(cluster.api.requests.subscribe((request, ended) => counts(request, ended) && this.#wrote(request)))
    this.#leave.push(cluster.driver.log.subscribe((call) => this.#called(cluster, call)))
    if (this.#steps.length === 0) this.#finished.resolve()
  }

  /** Resolves when every step has happened. Rejects at the first unexpected write or call. */
  get done(): Promise<void> {
    return this.#finished.promise
  }

  /** Stops listening to calls and writes, and resolves `done`. */
  close(): void {
    for (const leave of this.#leave.splice(0)) leave()
    this.#finished.resolve()
  }

  giveUp(ms: number): void {
    this.#fail(`nothing more came in ${ms} ms`, 'nothing')
  }

  throwIfBroken(): void {
    if (this.#broken !== undefined) throw this.#broken
  }

  #called(cluster: EmulatedCluster, call: DriverCall): void {
    if (this.#started.has(call) || this.#ignored.has(call.method)) return
    this.#started.add(call)
    const step = this.#steps[this.#next]
    const line = `call ${call.method} ${show(call.request)}`
    if (
      step === undefined ||
      !('call' in step) ||
      step.call !== call.method ||
      !hasFields(call.request, step.request)
    ) {
      cluster.driver.script(call.method, () => {
        throw new DriverFailure('UNIMPLEMENTED', 'the scenario does not expect this call')
      })
      this.#fail('an unexpected call', line)
      return
    }
    const { reply, fail } = step
    const answer = (): object => {
      if (fail !== undefined) throw new DriverFailure(...fail)
      return reply ?? {}
    }
    cluster.driver.script(call.method, reply === undefined && fail === undefined ? undefined : answer)
    this.#advance(line)
  }

  #wrote(request: LoggedRequest): void {
    const step = this.#steps[this.#next]
    const line = `write ${request.method} ${pathOf(request)} -> ${request.code} ${show(request.body)}`
    const expected = step !== undefined && 'write' in step && step.write === `${request.method} ${pathOf(request)}`
    if (!expected || !answered(request.code, step.code) || !sameBody(request.body, step.body)) {
      this.#fail('an unexpected write', line)
    } else this.#advance(line)
  }

  #advance(line: string): void {
    this.#seen.push(line)
    this.#next += 1
    if (this.#next === this.#steps.length) this.#finished.resolve()
  }

  #fail(description: string, got: string): void {
    if (this.#broken !== undefined) return
    const step = this.#steps[this.#next]
    const lines = [
      `step ${this.#next + 1}: ${description}`,
      `  expected: ${step === undefined ? 'nothing more' : show(step)}`,
      `  got:      ${got}`,
      ...this.#seen.map((each, index) => `  after ${index + 1}: ${each}`),
    ]
    this.#broken = new Error(lines.join('\n'))
    this.#finished.reject(this.#broken)
  }
}

function pathOf({ resource, namespace, name }: LoggedRequest): string {
  const [plural, subresource] = resource.split('/')
  return [plural, namespace, name, subresource].filter((part) => part !== undefined).join('/')
}

function answered(code: number, expected: number | undefined): boolean {
  return expected === undefined ? code === 200 || code === 201 : code === expected
}

function hasFields(
  request: Readonly<Record<string, unknown>>,
  fields: Readonly<Record<string, unknown>> = {},
): boolean {
  return Object.entries(fields).every(([key, value]) => isDeepStrictEqual(request[key], value))
}

function sameBody(body: unknown, expected: unknown): boolean {
  if (expected === undefined || expected === ANY) return true
  if (typeof expected !== 'object' || expected === null) return body === expected
  if (typeof body !== 'object' || body === null || Array.isArray(body) !== Array.isArray(expected)) return false
  const keys = new Set([...Object.keys(body), ...Object.keys(expected)])
  return [...keys].every((key) => Object.hasOwn(body, key) && sameField(body, expected, key))
}

function sameField(body: object, expected: object, key: string): boolean {
  return Object.hasOwn(expected, key) && sameBody(Reflect.get(body, key), Reflect.get(expected, key) ?? null)
}

function show(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner === 'bigint') return String(inner)
    return inner === ANY ? '<any>' : inner
  })
}
