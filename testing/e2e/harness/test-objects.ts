import {
  CSI_NODES,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type Resource,
  SECRETS,
  STORAGE_CLASSES,
  VOLUME_ATTACHMENTS,
  type VolumeAttachment,
} from '@csi-sidecars/kube-types'
import { type Api, type Ref, refused } from './api/api.ts'
import type { Cluster } from './api/cluster.ts'
import { attachment, csiNode, secret, storageClass, type VolumeParts, volume } from './api/objects.ts'
import { CannotRun } from './cannot-run.ts'

/** The first minor version of Kubernetes in which each resource, field or query parameter is on by default. */
const SINCE: Readonly<Record<string, number>> = { volumeattributesclasses: 34, errorCode: 34, sendInitialEvents: 34 }

/** Throws `CannotRun` if this version of Kubernetes does not have the resource, field or query parameter. */
export function requireInRelease(feature: string, minor: number): void {
  const since = SINCE[feature] ?? 0
  if (minor < since) throw new CannotRun(`Kubernetes 1.${minor} has no ${feature}: it is there since 1.${since}`)
}

/** The objects of one test. Their names contain the ID of the test, because all tests share one API server. */
export class TestObjects {
  readonly id: string
  readonly cluster: Cluster
  readonly api: Api
  readonly driverName: string
  readonly namespace = 'default'
  readonly #made: { readonly resource: Resource<unknown>; readonly ref: Ref }[] = []

  constructor(options: { readonly id: string; readonly cluster: Cluster; readonly driverName?: string | undefined }) {
    const { id, cluster, driverName = `${id}.csi.example.com` } = options
    this.id = id
    this.cluster = cluster
    this.api = cluster.api
    this.driverName = driverName
  }

  /** Returns the name of an object of this test: `pv` becomes `s12-pv`. */
  name(suffix: string): string {
    return `${this.id}-${suffix}`
  }

  /** Ends the test if this version of Kubernetes does not have these resources, fields or query parameters. */
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

  /** Creates a CSINode on which the driver has the node ID `id`. Returns the name of the node. */
  async createNode(
    suffix = 'node',
    { driver = this.driverName, id = `${this.name(suffix)}-id` } = {},
  ): Promise<string> {
    await this.create(CSI_NODES, csiNode(this.name(suffix), { [driver]: id }))
    return this.name(suffix)
  }

  /** Creates the StorageClass for the claims of the test. */
  async createClass(): Promise<void> {
    await this.create(STORAGE_CLASSES, storageClass(this.name('class'), this.driverName))
  }

  /** Creates a Secret and returns a reference to it. */
  async createSecret(
    data: Readonly<Record<string, string | Buffer>>,
    suffix = 'secret',
  ): Promise<{ readonly name: string; readonly namespace: string }> {
    const ref = { name: this.name(suffix), namespace: this.namespace }
    await this.create(SECRETS, secret(ref.namespace, ref.name, data))
    return ref
  }

  /** Creates a PersistentVolume and returns its name. */
  async createVolume(suffix: string, fields?: VolumeParts): Promise<string> {
    await this.create(PERSISTENT_VOLUMES, volume(this.name(suffix), this.driverName, fields))
    return this.name(suffix)
  }

  createAttachment(
    suffix: string,
    { driver = this.driverName, ...fields }: Parameters<typeof attachment>[2] & { readonly driver?: string },
  ): Promise<VolumeAttachment> {
    return this.create(VOLUME_ATTACHMENTS, attachment(this.name(suffix), driver, fields))
  }

  /** Deletes an object and removes all its finalizers, as a person does by hand. Returns when the object is gone. */
  async strip(resource: Resource<unknown>, ref: Ref): Promise<void> {
    await refused(this.api.delete(resource, ref))
    // A sidecar that has not seen the deletion may add its finalizer again, so the loop removes it again.
    for (let tries = 0; (await this.api.find(resource, ref)) !== undefined; tries += 1) {
      if (tries === 20) throw new Error(`${resource.kind} ${ref.name} does not go`)
      await refused(this.api.merge(resource, ref, { metadata: { finalizers: null } }))
    }
  }

  /** Removes all objects of the test that are left, and the volumes that a provisioner created for its driver. */
  async removeAll(): Promise<void> {
    await Promise.all(this.#made.map(({ resource, ref }) => this.#remove(resource, ref)))
    const volumes = await this.api.list(PERSISTENT_VOLUMES)
    const isOfTest = ({ spec }: PersistentVolume): boolean =>
      spec?.csi?.driver === this.driverName || spec?.claimRef?.name?.startsWith(`${this.id}-`) === true
    await Promise.all(
      volumes.filter(isOfTest).map(({ metadata }) => this.#remove(PERSISTENT_VOLUMES, { name: metadata?.name ?? '' })),
    )
  }

  async #remove(resource: Resource<unknown>, ref: Ref): Promise<void> {
    const release = (): Promise<unknown> => this.api.merge(resource, ref, { metadata: { finalizers: null } })
    await refused(this.api.delete(resource, ref).then((isKept) => isKept && release()))
  }
}
