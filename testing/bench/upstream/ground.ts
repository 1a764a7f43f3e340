import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inParallel } from '@csi-sidecars/base'
import { type KubeObject, NAMESPACES, type Resource } from '@csi-sidecars/kube-types'
import type { Api } from '../../e2e/harness/api/api.ts'
import { type ControlPlane, startControlPlane } from '../../e2e/harness/api/control-plane.ts'
import { type Gate, openGate } from '../../e2e/harness/api/gate.ts'
import { grant } from '../../e2e/harness/api/roles.ts'
import { type Capabilities, Driver } from '../../e2e/harness/driver/driver.ts'
import { temporaryFolder } from '../../e2e/harness/process/processes.ts'
import { apiServer } from '../../e2e/tools/binaries.ts'
import { AUDIT_POLICY } from './audit.ts'
import { mustHold, registryOf } from './copies.ts'
import { askEtcd, base64 } from './etcd.ts'
import { Observer } from './observer.ts'
import type { Executables } from './side.ts'
import { Subject, type SubjectOptions } from './subject.ts'

/** Requests at a time when objects are made or removed: what saturates the server on two cores. */
const HANDS = 16
const CAPABILITIES: Capabilities['controller'] = [
  'PUBLISH_UNPUBLISH_VOLUME',
  'EXPAND_VOLUME',
  'CREATE_DELETE_VOLUME',
  'CREATE_DELETE_SNAPSHOT',
]

export interface GroundOptions {
  /** The folder of etcd and kube-apiserver. */
  readonly binaries: string
  readonly executables: Executables
  /** The folder for the logs of all processes. */
  readonly logs: string
  /** When given, ours run as bundles under Node, and leave a CPU profile there. */
  readonly profiles?: string | undefined
}

/** An API server for one scene, and what runs against it. */
export class Ground implements AsyncDisposable {
  readonly cluster: ControlPlane
  readonly #folder = temporaryFolder('bench')
  readonly #options: GroundOptions
  readonly #drivers: Driver[] = []
  readonly #subjects: Subject[] = []
  readonly #gates: Gate[] = []
  #count = 0

  private constructor(cluster: ControlPlane, options: GroundOptions) {
    this.cluster = cluster
    this.#options = options
  }

  static async open(options: GroundOptions): Promise<Ground> {
    const { binaries, logs } = options
    mkdirSync(logs, { recursive: true })
    const policy = join(temporaryFolder('audit'), 'policy.json')
    writeFileSync(policy, JSON.stringify(AUDIT_POLICY))
    const cluster = await startControlPlane({
      ...apiServer(),
      binaries,
      logs,
      // The last of a kind counts. A log that is rotated would be read in part.
      apiServerArgs: [`--audit-policy-file=${policy}`, '--audit-log-maxsize=4000', '--delete-collection-workers=8'],
    })
    const ground = new Ground(cluster, options)
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

  /** A driver that does at once all that is asked for. Two of one name are two replicas of one driver. */
  async driver(name: string): Promise<Driver> {
    this.#count += 1
    const socket = join(this.#folder, `csi-${this.#count}.sock`)
    const driver = new Driver({ socket, name, controller: CAPABILITIES })
    this.#drivers.push(driver)
    await driver.start()
    return driver
  }

  executableOf({ side, app, together }: Pick<SubjectOptions, 'side' | 'app' | 'together'>): string {
    const { executables } = this.#options
    return together ? executables.ours.both : executables[side][app]
  }

  /** Starts an executable; does not wait for anything. */
  async start(options: SubjectOptions): Promise<Subject> {
    this.#count += 1
    const { logs, profiles } = this.#options
    const subject = await Subject.start(options, {
      cluster: this.cluster,
      folder: this.#folder,
      executable: this.executableOf(options),
      log: join(logs, `${this.#count}-${options.app}-${options.side}.log`),
      profiles: options.side === 'original' ? undefined : profiles,
    })
    this.#subjects.push(subject)
    return subject
  }

  /** A door between one sidecar and the server. */
  gate(): Promise<Gate> {
    return openGate(this.cluster, this.#gates)
  }

  observe<T extends KubeObject>(resource: Resource<T>): Promise<Observer<T>> {
    return Observer.open(this.cluster, resource)
  }

  /** `make` for each number below `count`, a few at a time. */
  async each(count: number, make: (index: number) => Promise<unknown>): Promise<void> {
    await inParallel(HANDS, Array(count).keys(), make)
  }

  /** Removes all objects of these kinds from the store, whatever finalizers they have. For when no sidecar looks. */
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
    await Promise.all(this.#gates.map((gate) => gate.stop()))
    await this.cluster.stop()
  }
}
