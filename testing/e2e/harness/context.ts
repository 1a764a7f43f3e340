import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { freePort } from '@csi-sidecars/emulator'
import type { ObjectMeta, Resource } from '@csi-sidecars/kube-types'
import type { Ref } from './api/api.ts'
import type { Cluster, Role, User } from './api/cluster.ts'
import { type Gate, openGate } from './api/gate.ts'
import type { WriteObserver } from './api/wire.ts'
import { type DriverOptions, FakeDriver } from './driver/driver.ts'
import { type Exit, stop } from './process/processes.ts'
import { Sidecar } from './process/sidecar.ts'
import { goProgram } from './programs/binaries.ts'
import type { Binaries, Executables, Subject, Target, TestedApp } from './subject.ts'
import { TestObjects } from './test-objects.ts'
import { eventually, pause, WATCHES_DIFFER_MS } from './waiting.ts'

const ROOT = resolve(import.meta.dirname, '../../..')

/** The test that a `TestContext` serves, and the cluster and executables that it uses. */
export interface TestContextOptions {
  readonly id: string
  readonly app: TestedApp
  readonly target: Target
  readonly binaries: Binaries
  readonly executables: Executables
  readonly cluster: Cluster
  /** The folder for sockets, kubeconfigs and other files of the test. */
  readonly folder: string
  /** Default: a name that no other test uses. */
  readonly driverName?: string | undefined
}

/** Observers of all that a sidecar does outside its process. */
export interface Observers {
  readonly call?: DriverOptions['observer']
  readonly writes?: WriteObserver
}

/** The differences of a sidecar from the one that a test starts by default. */
export interface SidecarSetup {
  /** Default: no driver, and no flag `--csi-address`. */
  readonly driver?: FakeDriver | undefined
  /** More arguments. They follow the default arguments and can override them. */
  readonly args?: readonly string[]
  /** All arguments. The default arguments are then omitted. */
  readonly bareArgs?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  /** The RBAC group of the user. Default: the group of `app`. */
  readonly role?: Role
  /** Default: an unused user of `role`. */
  readonly user?: User | undefined
  /** Default: the sidecar that the test is about. */
  readonly app?: Subject
  /** Default: the executable of `app`. */
  readonly binary?: string | undefined
  /** The proxy to the API server. Default: a new gate. */
  readonly gate?: Gate
  readonly hostname?: string
}

/** The output and the end of a sidecar that has exited. */
export interface RunOutcome extends Exit {
  readonly stdout: string
  readonly stderr: string
  readonly lines: readonly string[]
  /** The path of the executable. */
  readonly binary: string
}

/** A running sidecar with its gate, the proxy to the API server. */
export class RunningSidecar extends Sidecar {
  readonly gate: Gate
  readonly user: User

  constructor(options: ConstructorParameters<typeof Sidecar>[0], gate: Gate, user: User) {
    super(options)
    this.gate = gate
    this.user = user
  }
}

/** Creates the drivers, sidecars, gates and objects of one test, and removes them when the test ends. */
export class TestContext extends TestObjects {
  readonly app: TestedApp
  readonly target: Target
  /** True if the test runs our sidecars, false for the Go sidecars. Some expectations differ. */
  readonly ours: boolean
  readonly folder: string
  readonly drivers: FakeDriver[] = []
  readonly sidecars: RunningSidecar[] = []
  /** Observes the drivers and gates that the test starts from now on. */
  observers: Observers = {}
  readonly #options: TestContextOptions
  readonly #gates: Gate[] = []
  readonly #others: Sidecar[] = []
  #files = 0

  constructor(options: TestContextOptions) {
    super(options)
    this.#options = options
    this.app = options.app
    this.target = options.target
    this.ours = options.binaries !== 'originals'
    this.folder = options.folder
  }

  executable(app: Subject = this.app): string {
    return this.#options.executables[app]
  }

  /** Returns the `--controllers` argument if one executable contains all sidecars. */
  controllers(app: Subject = this.app): readonly string[] {
    return this.#options.binaries === 'one' && app !== 'both' ? [`--controllers=${app}`] : []
  }

  /** Returns the path of the Go sidecar of this sidecar. */
  original(app: TestedApp = this.app): string {
    return goProgram(ROOT, `csi-${app}`)
  }

  /** Starts a CSI driver. */
  async driver(options: Partial<DriverOptions> = {}): Promise<FakeDriver> {
    const driver = this.idleDriver(options)
    await driver.start()
    return driver
  }

  /** Starts a CSI driver that can attach and expand volumes. */
  fullDriver(): Promise<FakeDriver> {
    return this.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME'] })
  }

  /** Creates a CSI driver that does not listen yet. */
  idleDriver(options: Partial<DriverOptions> = {}): FakeDriver {
    const socket = join(this.folder, `csi-${this.drivers.length}.sock`)
    const driver = new FakeDriver({ socket, name: this.driverName, observer: this.observers.call, ...options })
    this.drivers.push(driver)
    return driver
  }

  gate(): Promise<Gate> {
    return openGate(this.cluster, this.#gates, this.observers.writes)
  }

  /** Starts the binary under test without waiting until it is ready. */
  async sidecar(setup: SidecarSetup): Promise<RunningSidecar> {
    const app = setup.app ?? this.app
    const user = setup.user ?? this.cluster.user(setup.role ?? app)
    const gate = setup.gate ?? (await this.gate())
    const port = await freePort()
    const kubeconfig = this.kubeconfig(gate.url, user.token)
    const usual = [`--kubeconfig=${kubeconfig}`, '-v=5', `--http-endpoint=127.0.0.1:${port}`]
    if (setup.driver !== undefined) usual.unshift(`--csi-address=${setup.driver.socket}`)
    const { binary = this.executable(app), env, hostname } = setup
    const args = [
      ...(setup.binary === undefined ? this.controllers(app) : []),
      ...(setup.bareArgs ?? [...usual, ...(setup.args ?? [])]),
    ]
    const sidecar = new RunningSidecar({ binary, args, port, cwd: this.folder, env, hostname }, gate, user)
    this.sidecars.push(sidecar)
    return sidecar
  }

  /** Starts the sidecar under test and waits until it watches these resources. The default driver is `fullDriver()`. */
  async running(setup: SidecarSetup = {}, ...plurals: readonly string[]): Promise<RunningSidecar> {
    const sidecar = await this.sidecar({ ...setup, driver: setup.driver ?? (await this.fullDriver()) })
    await this.watching(sidecar, ...(plurals.length > 0 ? plurals : ['persistentvolumes']))
    return sidecar
  }

  /** Runs the binary under test with exactly these arguments until it exits. */
  async exec(
    args: readonly string[],
    { env, within, app = this.app }: { env?: NodeJS.ProcessEnv; within?: number; app?: Subject } = {},
  ): Promise<RunOutcome> {
    const binary = this.executable(app)
    const sidecar = new Sidecar({ binary, args: [...this.controllers(app), ...args], cwd: this.folder, env })
    this.#others.push(sidecar)
    const { code, signal } = await sidecar.end(within)
    return { code, signal, stdout: sidecar.stdout, stderr: sidecar.stderr, lines: sidecar.lines, binary }
  }

  /** Waits until the sidecar watches these resources, so that it receives later changes as events. */
  async watching(sidecar: RunningSidecar, ...plurals: readonly string[]): Promise<void> {
    this.requires(...plurals)
    for (const plural of plurals) {
      const isWatching = (): boolean => {
        if (sidecar.exit !== undefined) throw new Error(`it ended: ${JSON.stringify(sidecar.exit)}`)
        return sidecar.gate.openWatches(plural) > 0
      }
      await eventually(`a watch of ${plural}`, isWatching, { within: 30_000 })
    }
  }

  /**
   * Waits until each running sidecar that watches such objects has received this version, so that it knows the version
   * before it receives a later change of another kind.
   */
  async received<T extends { readonly metadata?: ObjectMeta | undefined }>(
    resource: Resource<T>,
    { metadata }: T,
  ): Promise<void> {
    const { uid = '', resourceVersion = '0' } = metadata ?? {}
    await this.#eachWatching(resource, `version ${resourceVersion} of ${metadata?.name}`, ({ gate }) =>
      gate.delivered(resource.plural, uid, BigInt(resourceVersion)),
    )
  }

  /** Removes an object, and waits until each running sidecar that watches such objects has received the deletion. */
  async remove<T extends { readonly metadata?: ObjectMeta | undefined }>(
    resource: Resource<T>,
    ref: Ref,
    how: () => Promise<unknown> = () => this.api.delete(resource, ref),
  ): Promise<void> {
    const { metadata } = await this.api.get(resource, ref)
    await how()
    await this.#eachWatching(resource, `the deletion of ${ref.name}`, ({ gate }) =>
      gate.deliveredDeletion(resource.plural, metadata?.uid ?? ''),
    )
  }

  /** Waits until each running sidecar that watches such objects knows this version, or the deletion if there is none. */
  async knows(
    resource: Resource<unknown>,
    metadata: ObjectMeta | undefined,
    version: { readonly metadata?: ObjectMeta | undefined } | undefined,
  ): Promise<void> {
    if (version?.metadata?.uid === metadata?.uid && version !== undefined) {
      await this.received(resource as Resource<typeof version>, version)
      return
    }
    await this.#eachWatching(resource, `the deletion of ${metadata?.name}`, ({ gate }) =>
      gate.deliveredDeletion(resource.plural, metadata?.uid ?? ''),
    )
  }

  async #eachWatching(
    { plural }: Resource<unknown>,
    description: string,
    holds: (sidecar: RunningSidecar) => boolean,
  ): Promise<void> {
    for (const sidecar of this.sidecars) {
      const watches = (): boolean => sidecar.exit === undefined && sidecar.gate.openWatches(plural) > 0
      await eventually(`${description} at the sidecar`, () => !watches() || holds(sidecar), { every: 5 })
      // Our sidecar reads the event before it answers a later request. An error is an answer, too.
      if (this.ours && sidecar.port !== undefined) await sidecar.http('/healthz').catch(() => undefined)
    }
    // A Go sidecar handles its watches in parallel.
    if (!this.ours) await pause(WATCHES_DIFFER_MS)
  }

  /** Waits for a line with this text in the log of one of the sidecars. */
  logged(text: string): Promise<string> {
    const firstLine = (): string | undefined => this.sidecars.flatMap((sidecar) => sidecar.linesWith(text))[0]
    return eventually(`a log line with ${text}`, firstLine)
  }

  kubeconfig(server: string, token: string, extra: object = {}): string {
    this.#files += 1
    const file = join(this.folder, `kubeconfig-${this.#files}.json`)
    writeFileSync(file, JSON.stringify(kubeconfigOf(server, this.cluster.certificate.cert, { token, ...extra })))
    return file
  }

  /** Writes logs, requests and calls to the driver into a folder, to explain a failure. */
  report(folder: string, error: unknown): void {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'error.txt'), errorText(error))
    for (const [index, sidecar] of [...this.sidecars, ...this.#others].entries()) {
      const head = `${sidecar.args.join(' ')}\n${JSON.stringify(sidecar.exit ?? 'still running')}\n\n`
      writeFileSync(join(folder, `sidecar-${index}.log`), head + sidecar.stdout + sidecar.stderr)
    }
    for (const [index, gate] of this.#gates.entries()) {
      const lines = gate.requests.map(({ bytes, authorization, ...rest }) =>
        JSON.stringify({ ...rest, size: bytes.length, authorized: authorization !== undefined }),
      )
      writeFileSync(join(folder, `requests-${index}.jsonl`), `${lines.join('\n')}\n`)
    }
    for (const [index, driver] of this.drivers.entries()) {
      const lines = driver.calls.map((call) => JSON.stringify(call))
      writeFileSync(join(folder, `driver-${index}-calls.jsonl`), `${lines.join('\n')}\n`)
    }
    const audit = this.cluster.auditOf(this.sidecars.map(({ user }) => user))
    writeFileSync(join(folder, 'audit.jsonl'), `${audit.join('\n')}\n`)
  }

  /** Ends all processes and servers of the test, and removes its objects. */
  async close(): Promise<void> {
    await Promise.all([...this.sidecars, ...this.#others].map((sidecar) => stop(sidecar.process)))
    for (const driver of this.drivers) driver.kill()
    await Promise.all(this.#gates.map((gate) => gate.stop()))
    await this.removeAll()
  }
}

export function kubeconfigOf(server: string, ca: string, user: object): object {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  }
}

export function errorText(error: unknown): string {
  const lines: string[] = []
  for (let each = error; each instanceof Error; each = each.cause) lines.push(each.stack ?? each.message)
  return lines.length === 0 ? String(error) : lines.join('\ncaused by ')
}
