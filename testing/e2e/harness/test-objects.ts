import {
  CSI_NODES,
  PERSISTENT_VOLUMES,
  type Resource,
  SECRETS,
  STORAGE_CLASSES,
  VOLUME_ATTACHMENTS,
  type VolumeAttachment,
} from '@csi-sidecars/kube-types'
import { type Api, type Ref, refused } from './api/api.ts'
import type { Cluster } from './api/cluster.ts'
import { attachment, csiNode, secret, storageClass, type VolumeParts, volume } from './api/objects.ts'
import { requireInRelease } from './release.ts'

/** The objects of one test: their names contain its id, because tests share one API server, and they end with the test. */
export class TestObjects {
  readonly id: string
  readonly cluster: Cluster
  readonly api: Api
  readonly driverName: string
  readonly namespace = 'default'
  readonly #made: { readonly resource: Resource<unknown>; readonly ref: Ref }[] = []

  constructor({ id, cluster }: { readonly id: string; readonly cluster: Cluster }) {
    this.id = id
    this.cluster = cluster
    this.api = cluster.api
    this.driverName = `${id}.csi.example.com`
  }

  /** `pv` -> `s12-pv`. */
  name(what: string): string {
    return `${this.id}-${what}`
  }

  /** Ends a test of kinds, by their plurals, or fields that this Kubernetes does not have. */
  requires(...names: readonly string[]): void {
    for (const name of names) requireInRelease(name, this.cluster.minor)
  }

  /** Creates an object that is removed after the test. */
  async create<T>(resource: Resource<T>, object: T): Promise<T> {
    const { metadata } = object as { metadata?: { name?: string; namespace?: string } }
    this.requires(resource.plural)
    const made = await this.api.create(resource, object)
    this.#made.push({ resource, ref: { name: metadata?.name ?? '', namespace: metadata?.namespace } })
    return made
  }

  /** The CSINode of a node with the driver, which knows the node by this id; returns its name. */
  async createNode(what = 'node', { driver = this.driverName, id = `${this.name(what)}-id` } = {}): Promise<string> {
    await this.create(CSI_NODES, csiNode(this.name(what), { [driver]: id }))
    return this.name(what)
  }

  /** The StorageClass of the test's claims. */
  async createClass(): Promise<void> {
    await this.create(STORAGE_CLASSES, storageClass(this.name('class'), this.driverName))
  }

  /** Returns the reference to it. */
  async createSecret(
    data: Readonly<Record<string, string | Buffer>>,
    what = 'secret',
  ): Promise<{ readonly name: string; readonly namespace: string }> {
    const ref = { name: this.name(what), namespace: this.namespace }
    await this.create(SECRETS, secret(ref.namespace, ref.name, data))
    return ref
  }

  /** Returns its name. */
  async createVolume(what: string, parts?: VolumeParts): Promise<string> {
    await this.create(PERSISTENT_VOLUMES, volume(this.name(what), this.driverName, parts))
    return this.name(what)
  }

  createAttachment(what: string, parts: Parameters<typeof attachment>[2]): Promise<VolumeAttachment> {
    return this.create(VOLUME_ATTACHMENTS, attachment(this.name(what), this.driverName, parts))
  }

  /** A person deletes an object and removes all finalizers by hand; it is gone then. */
  async strip(resource: Resource<unknown>, ref: Ref): Promise<void> {
    await refused(this.api.delete(resource, ref))
    // A sidecar may add its finalizer once more before it sees the deletion.
    for (let tries = 0; (await this.api.find(resource, ref)) !== undefined; tries += 1) {
      if (tries === 20) throw new Error(`${resource.kind} ${ref.name} does not go`)
      await refused(this.api.merge(resource, ref, { metadata: { finalizers: null } }))
    }
  }

  /** Removes all objects of the test that are left, and the volumes that a provisioner created for its driver. */
  async removeAll(): Promise<void> {
    await Promise.all(this.#made.map(({ resource, ref }) => this.#remove(resource, ref)))
    const volumes = await this.api.list(PERSISTENT_VOLUMES)
    const provisioned = volumes.filter(({ spec }) => spec?.csi?.driver === this.driverName)
    await Promise.all(
      provisioned.map(({ metadata }) => this.#remove(PERSISTENT_VOLUMES, { name: metadata?.name ?? '' })),
    )
  }

  async #remove(resource: Resource<unknown>, ref: Ref): Promise<void> {
    const left = await this.api.find(resource, ref)
    if (left === undefined) return
    await this.api.delete(resource, ref).catch(() => undefined)
    if ((await this.api.find(resource, ref)) === undefined) return
    await this.api.merge(resource, ref, { metadata: { finalizers: null } }).catch(() => undefined)
  }
}
