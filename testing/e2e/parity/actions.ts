import {
  CSI_DRIVERS,
  type CSIDriver,
  NODES,
  type Node,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolumeClaimSpec,
  type PersistentVolumeSpec,
  PODS,
  type Pod,
  type Resource,
  STORAGE_CLASSES,
  type StorageClass,
  VOLUME_ATTACHMENTS,
} from '@csi-sidecars/kube-types'
import { ApiFailure } from '../harness/api/api.ts'
import * as objects from '../harness/api/objects.ts'
import { type Action, refIn, type ScenarioSide } from './scenario.ts'

/** Actions of users and administrators. Options name other objects of the scenario without its id. */

type Metadata = { readonly annotations?: object; readonly labels?: object; readonly finalizers?: readonly string[] }

export interface VolumeOptions extends Partial<Omit<PersistentVolumeSpec, 'csi'>> {
  readonly size?: string
  readonly modes?: string[]
  readonly class?: string
  readonly policy?: 'Retain' | 'Delete' | 'Recycle'
  /** The claim that it is reserved for. */
  readonly claim?: string
  /** Null for a volume that is not CSI's. */
  readonly csi?: null
  /** Selects the actions of the attacher. */
  readonly handle?: 'refused' | 'slow' | 'stuck'
  /** A driver of the scenario instead of the usual one. */
  readonly driver?: string
  readonly metadata?: Metadata
}

/** The label by which volumes and claims without class find each other within their scenario. */
const SCENARIO = 'scenario'

/** Done when a controller has seen the object, so that the next action of the step finds it on either side. */
export function volume(what: string, options: VolumeOptions = {}): Action {
  const { size = '1Gi', modes = ['ReadWriteOnce'], policy = 'Retain', ...others } = options
  const { class: name, claim: reservedFor, handle = 'handle', driver, metadata, ...spec } = others
  return async (scene) => {
    const labels = { ...(name === '' && { [SCENARIO]: scene.id }), ...metadata?.labels }
    const ref = { name: scene.name(what) }
    await scene.api.create(
      PERSISTENT_VOLUMES,
      objects.volume(scene.name(what), driver === undefined ? scene.driver : scene.name(driver), {
        capacity: { storage: size },
        accessModes: modes,
        persistentVolumeReclaimPolicy: policy,
        // Without one of its own it is a volume for the claims of this scenario alone.
        storageClassName: name === '' ? '' : scene.name(name ?? 'class'),
        ...(reservedFor !== undefined && { claimRef: { namespace: scene.id, name: reservedFor } }),
        csi: { volumeHandle: `${ref.name}-${handle}` },
        ...spec,
        metadata: { ...metadata, labels },
      }),
    )
    await scene.api.until(PERSISTENT_VOLUMES, ref, ({ status }) => status?.phase !== 'Pending')
  }
}

export interface ClaimOptions extends Partial<Omit<PersistentVolumeClaimSpec, 'volumeName'>> {
  readonly size?: string
  readonly modes?: string[]
  /** Null for a claim that asks for none. */
  readonly class?: string | null
  readonly volume?: string
  readonly metadata?: Metadata
}

export function claim(what: string, options: ClaimOptions = {}): Action {
  const { modes = ['ReadWriteOnce'], class: name = 'class', volume: named, ...spec } = options
  return (scene) =>
    scene.api.create(
      PERSISTENT_VOLUME_CLAIMS,
      objects.claim(scene.id, what, {
        accessModes: modes,
        ...(name !== null && { storageClassName: name === '' ? '' : scene.name(name) }),
        ...(name === '' && { selector: { matchLabels: { [SCENARIO]: scene.id } } }),
        ...(named !== undefined && { volumeName: scene.name(named) }),
        ...spec,
      }),
    )
}

export function storageClass(what: string, options: Partial<StorageClass> = {}): Action {
  return (scene) => {
    const { metadata, ...usual } = objects.storageClass(scene.name(what), scene.driver)
    return scene.api.create(STORAGE_CLASSES, { ...usual, ...options, metadata: { ...metadata, ...options.metadata } })
  }
}

/** A class whose claims wait for a pod. */
export function lateClass(what: string, options: Partial<StorageClass> = {}): Action {
  return storageClass(what, { volumeBindingMode: 'WaitForFirstConsumer', ...options })
}

export function csiDriver(what: string, spec: CSIDriver['spec']): Action {
  return (scene) => scene.api.create(CSI_DRIVERS, { metadata: { name: scene.name(what) }, spec })
}

const MANAGED = { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' }

export interface NodeOptions {
  readonly annotations?: Record<string, string>
  readonly taints?: NonNullable<Node['spec']>['taints']
  readonly ready?: boolean
}

/** A node that is ready, whose volumes the controller attaches. */
export function node(what: string, { annotations = MANAGED, taints, ready = true }: NodeOptions = {}): Action {
  return async (scene) => {
    const ref = { name: scene.name(what) }
    await scene.api.create(NODES, { metadata: { ...ref, annotations }, spec: { ...(taints && { taints }) } })
    await scene.api.merge(NODES, { ...ref, subresource: 'status' }, { status: readiness(ready) })
  }
}

export function readiness(ready: boolean): object {
  return { conditions: [{ type: 'Ready', status: ready ? 'True' : 'Unknown' }] }
}

export interface PodOptions {
  /** Without it the pod is not scheduled. */
  readonly node?: string
  /** The claims that it uses. */
  readonly claims?: readonly string[]
  readonly volumes?: readonly object[]
  readonly spec?: Partial<NonNullable<Pod['spec']>>
  /** A finalizer that the scenario removes, so that the object can be compared while it is being deleted. */
  readonly held?: boolean
}

export function pod(what: string, { node: place, claims = [], volumes = [], spec, held }: PodOptions): Action {
  const all = [...claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })), ...volumes]
  return (scene) => {
    const { metadata, ...rest } = objects.pod(scene.id, what, all)
    const finalizers = held ? { finalizers: ['example.com/held'] } : {}
    const placed = place === undefined ? {} : { nodeName: scene.name(place) }
    return scene.api.create(PODS, {
      ...rest,
      metadata: { ...metadata, ...finalizers },
      spec: { containers: [], ...rest.spec, ...placed, ...spec },
    })
  }
}

/** The status that a kubelet reports for a pod. */
export function phase(what: string, phaseIs: string, status: object = {}): Action {
  return reported(PODS, what, { phase: phaseIs, ...status })
}

export const RUNNING = { containerStatuses: [containerStatus({ running: { startedAt: '2026-01-01T00:00:00Z' } })] }
export const ENDED = { containerStatuses: [containerStatus({ terminated: { exitCode: 0 } })] }

function containerStatus(state: object): object {
  return { name: 'c', image: 'none', imageID: '', ready: false, restartCount: 0, state }
}

type Body = object | ((scene: ScenarioSide) => object)

function bodyOf(body: Body, scene: ScenarioSide): object {
  return typeof body === 'function' ? body(scene) : body
}

export function changed(resource: Resource<unknown>, what: string, body: Body): Action {
  return (scene) => scene.api.merge(resource, refIn(scene, resource, what), bodyOf(body, scene))
}

/** Like `changed`, but only for the status. */
export function reported(resource: Resource<unknown>, what: string, status: Body): Action {
  return (scene) => {
    const ref = { ...refIn(scene, resource, what), subresource: 'status' }
    return scene.api.merge(resource, ref, { status: bodyOf(status, scene) })
  }
}

/** An action that the API server refuses. */
export function refused(action: Action): Action {
  return async (scene) => {
    try {
      await action(scene)
    } catch (error) {
      if (error instanceof ApiFailure) return
      throw error
    }
    throw new Error('it was not refused')
  }
}

export function deleted(resource: Resource<unknown>, what: string): Action {
  return (scene) => scene.api.delete(resource, refIn(scene, resource, what))
}

/** Deleted, with its finalizers removed. */
export function forced(resource: Resource<unknown>, what: string): Action {
  return async (scene) => {
    const ref = refIn(scene, resource, what)
    await scene.api.delete(resource, ref)
    if ((await scene.api.find(resource, ref)) === undefined) return
    await scene.api.merge(resource, ref, { metadata: { finalizers: null } })
  }
}

/** The node's kubelet reports these volumes in use. */
export function inUse(what: string, ...volumes: readonly string[]): Action {
  return reported(NODES, what, (scene) => ({
    volumesInUse: volumes.map((name) => `kubernetes.io/csi/${scene.driver}^${scene.name(name)}-handle`),
  }))
}

/** Another client deletes the attachments of a volume. */
export function attachmentsDeleted(volumeName: string): Action {
  return async (scene) => {
    for (const { metadata, spec } of await scene.api.list(VOLUME_ATTACHMENTS)) {
      if (spec.source.persistentVolumeName !== scene.name(volumeName)) continue
      await scene.api.delete(VOLUME_ATTACHMENTS, { name: metadata?.name ?? '' })
    }
  }
}
