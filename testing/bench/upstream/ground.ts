import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inParallel } from '@csi-sidecars/base'
import { type KubeObject, NAMESPACES, type Resource } from '@csi-sidecars/kube-types'
import type { Api } from '../../e2e/harness/api/api.ts'
import { type ControlPlane, startControlPlane } from '../../e2e/harness/api/control-plane.ts'
import { grant } from '../../e2e/harness/api/user.ts'
import { type Capabilities, FakeDriver } from '../../e2e/harness/driver/driver.ts'
import { temporaryFolder } from '../../e2e/harness/process/processes.ts'
import { apiServer } from '../../e2e/harness/programs/binaries.ts'
import { askEtcd, base64, mustHold, registryOf } from './copies.ts'
import { type ComparedExecutables, type Figures, SIDES, type Side } from './figures.ts'
import { Observer } from './observer.ts'
import { AUDIT_POLICY, Measured, type SubjectOptions } from './subject.ts'

/** The settings and the helpers that each benchmark receives. */
export interface Bench {
  readonly rounds: number
  readonly figures: Figures
  readonly printLine: (line: string) => void
  /** Returns the number of objects multiplied by `--scale`, but at least 2. */
  sized(count: number): number
  /** Starts an empty API server for the benchmark. The caller disposes of the server. */
  ground(): Promise<BenchServer>
}

/** One benchmark. Its `run` records the figures in `bench.figures`, and throws if it cannot measure. */
export interface BenchScene {
  /** The name of the benchmark, a value of `--only`. */
  readonly name: string
  readonly title: string
  /** The facts that a reader needs to interpret the figures. */
  readonly conditions: string
  run(bench: Bench): Promise<void>
}

/** The number of concurrent requests that create or delete objects. It saturates an API server on two cores. */
const HANDS = 16
const CAPABILITIES: Capabilities['controller'] = [
  'PUBLISH_UNPUBLISH_VOLUME',
  'EXPAND_VOLUME',
  'CREATE_DELETE_VOLUME',
  'CREATE_DELETE_SNAPSHOT',
]

/** The executables and folders with which `BenchServer` starts its processes. */
export interface GroundOptions {
  /** The folder with the etcd and kube-apiserver binaries. */
  readonly binaries: string
  readonly executables: ComparedExecutables
  /** The folder for the logs of all processes. */
  readonly logs: string
  /** If given, our sidecars run as bundles under Node and write CPU profiles to this folder. */
  readonly profiles?: string | undefined
}

/** The API server of one benchmark, with the drivers and the sidecars that run against it. */
export class BenchServer implements AsyncDisposable {
  readonly cluster: ControlPlane
  readonly #folder = temporaryFolder('bench')
  readonly #options: GroundOptions
  readonly #drivers: FakeDriver[] = []
  readonly #subjects: Measured[] = []
  #count = 0

  private constructor(cluster: ControlPlane, options: GroundOptions) {
    this.cluster = cluster
    this.#options = options
  }

  static async open(options: GroundOptions): Promise<BenchServer> {
    const { binaries, logs } = options
    mkdirSync(logs, { recursive: true })
    const policy = join(temporaryFolder('audit'), 'policy.json')
    writeFileSync(policy, JSON.stringify(AUDIT_POLICY))
    const { minor, apiServerArgs } = apiServer()
    const cluster = await startControlPlane({
      minor,
      binaries,
      logs,
      // These flags override the usual flags. The size limit keeps the whole audit log in one file.
      apiServerArgs: [
        ...apiServerArgs,
        `--audit-policy-file=${policy}`,
        '--audit-log-maxsize=4000',
        '--delete-collection-workers=8',
      ],
    })
    const ground = new BenchServer(cluster, options)
    try {
      await grant(cluster.api)
    } catch (error) {
      await ground[Symbol.asyncDispose]()
      throw error
    }
    return ground
  }

  get api(): Api {
    return this.cluster.api
  }

  /** Starts a CSI driver that answers all calls without delay. */
  async driver(name: string): Promise<FakeDriver> {
    this.#count += 1
    const socket = join(this.#folder, `csi-${this.#count}.sock`)
    const driver = new FakeDriver({ socket, name, controller: CAPABILITIES })
    this.#drivers.push(driver)
    await driver.start()
    return driver
  }

  /** Starts a sidecar without waiting until it is ready. */
  async start(options: SubjectOptions): Promise<Measured> {
    this.#count += 1
    const { executables, logs, profiles } = this.#options
    const { app, side, together } = options
    const subject = await Measured.start(options, {
      cluster: this.cluster,
      folder: this.#folder,
      executable: together ? executables.ours.both : executables[side][app],
      log: join(logs, `${this.#count}-${app}-${side}.log`),
      profiles: side === 'original' ? undefined : profiles,
    })
    this.#subjects.push(subject)
    return subject
  }

  observe<T extends KubeObject>(resource: Resource<T>): Promise<Observer<T>> {
    return Observer.open(this.cluster, resource)
  }

  /** Calls `make` for each number below `count`, at most `HANDS` at a time. */
  async each(count: number, make: (index: number) => Promise<unknown>): Promise<void> {
    await inParallel(HANDS, Array(count).keys(), make)
  }

  /** Deletes all objects of these kinds from etcd, regardless of their finalizers. */
  async clear(...resources: readonly Resource<KubeObject>[]): Promise<void> {
    for (const resource of resources) {
      const folder = registryOf(resource)
      const range = { key: base64(`${folder}/`), range_end: base64(`${folder}0`) }
      await askEtcd(this.cluster.etcdUrl, 'deleterange', range)
    }
    for (const resource of resources) await mustHold(this, resource, { count: 0 })
  }

  async namespace(name: string): Promise<void> {
    await this.api.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#subjects.map((subject) => subject.kill()))
    for (const driver of this.#drivers) driver.kill()
    await this.cluster.stop()
  }
}

/** Measures both implementations in each round. Their order alternates, because the second finds warm caches. */
export async function interleaved(
  { rounds, printLine }: Pick<Bench, 'rounds' | 'printLine'>,
  measure: (side: Side, round: number) => Promise<void>,
): Promise<void> {
  for (let round = 1; round <= rounds; round += 1) {
    for (const side of round % 2 === 1 ? SIDES : SIDES.toReversed()) {
      printLine(`  round ${round}, ${side === 'ours' ? 'ours' : 'the Go sidecar'}`)
      await measure(side, round)
    }
  }
}
