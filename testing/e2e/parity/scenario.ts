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
import { type Api, ApiRefusal, type Ref } from '../harness/api/api.ts'
import * as objects from '../harness/api/objects.ts'
import type { View } from './view.ts'

/** A scenario in one of the two clusters. Names of objects without a namespace contain the scenario's ID. */
export interface ScenarioSide {
  readonly api: Api
  readonly id: string
  /** The name of the driver that can create, attach and delete volumes. */
  readonly driver: string
  /** Returns the name of an object without a namespace: `pv` becomes `p07-pv`. */
  name(suffix: string): string
}

/** An action of a user, an administrator, a kubelet or a sidecar on the API server. */
export type Action = (scene: ScenarioSide) => Promise<unknown>

/** Actions that run in order. Their effects settle before the next step begins. */
export interface ParityStep {
  readonly actions: readonly Action[]
  /** A condition that must hold before the step ends, for effects that take longer than the usual pause. */
  readonly until?: (view: View) => boolean
  /** The time limit of `until`. Default: one minute. */
  readonly timeLimitMs?: number
}

/**
 * A sequence of steps that runs in two clusters, one with the real controllers and one with ours. Both must agree after
 * each step.
 */
export interface Scenario {
  readonly name: string
  readonly steps: readonly ParityStep[]
  /** The number of the round. Scenarios of one round run in parallel. Default: 1. */
  readonly round?: number
  /** True for a scenario that takes minutes and runs only with `--long`. */
  readonly long?: boolean
}

export type Steps = readonly (readonly Action[] | ParityStep)[]

/**
 * The fields in which a PersistentVolume differs from the default: 1Gi, ReadWriteOnce, Retain, with the scenario's
 * StorageClass.
 */
export interface VolumeOptions extends Partial<Omit<PersistentVolumeSpec, 'csi'>> {
  readonly size?: string
  readonly modes?: string[]
  readonly class?: string
  readonly policy?: 'Retain' | 'Delete' | 'Recycle'
  /** The claim for which the volume is reserved. */
  readonly claim?: string
  /** Null for a volume without a CSI source. */
  readonly csi?: null
  /** The suffix of the volume handle. It decides how the simulated attacher behaves. */
  readonly handle?: 'refused' | 'slow' | 'stuck'
  /** The short name of another driver. Default: the driver of the scenario. */
  readonly driver?: string
  readonly metadata?: Metadata
}

/** Builds a scenario from its name and the actions of its steps. */
export function scenario(name: string, ...steps: Steps): Scenario {
  return { name, steps: steps.map((step) => ('actions' in step ? step : { actions: step })) }
}

/** Builds a scenario that starts with the claim `data`, bound to the volume `pv` with these options. */
export function boundTo(options: VolumeOptions, name: string, ...steps: Steps): Scenario {
  return scenario(name, [volume('pv', options), claim('data')], ...steps)
}

export function withBoundClaim(name: string, ...steps: Steps): Scenario {
  return boundTo({}, name, ...steps)
}

/** Returns a condition that holds when no object of a kind exists. */
export function gone(kind: string): (view: View) => boolean {
  return ({ objects }) => ![...objects.keys()].some((name) => name.startsWith(`${kind} `))
}

function refIn(scene: ScenarioSide, resource: Resource<unknown>, suffix: string): Ref {
  return resource.namespaced ? { namespace: scene.id, name: suffix } : { name: scene.name(suffix) }
}

type Metadata = { readonly annotations?: object; readonly labels?: object; readonly finalizers?: readonly string[] }

/** A label on volumes without a class, so that only claims of the same scenario bind them. */
const SCENARIO = 'scenario'

/** Creates a volume and waits until a controller has seen it, so that the next action finds it in both clusters. */
export function volume(suffix: string, options: VolumeOptions = {}): Action {
  const { size = '1Gi', modes = ['ReadWriteOnce'], policy = 'Retain', ...others } = options
  const { class: name, claim: reservedFor, handle = 'handle', driver, metadata, ...spec } = others
  return async (scene) => {
    const labels = { ...(name === '' && { [SCENARIO]: scene.id }), ...metadata?.labels }
    const ref = { name: scene.name(suffix) }
    await scene.api.create(
      PERSISTENT_VOLUMES,
      objects.volume(scene.name(suffix), driver === undefined ? scene.driver : scene.name(driver), {
        capacity: { storage: size },
        accessModes: modes,
        persistentVolumeReclaimPolicy: policy,
        // The default class belongs to this scenario, so that only claims of this scenario use the volume.
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

interface ClaimOptions extends Partial<Omit<PersistentVolumeClaimSpec, 'volumeName'>> {
  readonly size?: string
  readonly modes?: string[]
  /** Null for a claim that does not set `storageClassName`. */
  readonly class?: string | null
  readonly volume?: string
  readonly metadata?: Metadata
}

export function claim(suffix: string, options: ClaimOptions = {}): Action {
  const { modes = ['ReadWriteOnce'], class: name = 'class', volume: named, ...spec } = options
  return (scene) =>
    scene.api.create(
      PERSISTENT_VOLUME_CLAIMS,
      objects.claim(scene.id, suffix, {
        accessModes: modes,
        ...(name !== null && { storageClassName: name === '' ? '' : scene.name(name) }),
        ...(name === '' && { selector: { matchLabels: { [SCENARIO]: scene.id } } }),
        ...(named !== undefined && { volumeName: scene.name(named) }),
        ...spec,
      }),
    )
}

export function storageClass(suffix: string, options: Partial<StorageClass> = {}): Action {
  return (scene) => {
    const { metadata, ...usual } = objects.storageClass(scene.name(suffix), scene.driver)
    return scene.api.create(STORAGE_CLASSES, { ...usual, ...options, metadata: { ...metadata, ...options.metadata } })
  }
}

/** Creates a StorageClass with WaitForFirstConsumer. */
export function lateClass(suffix: string, options: Partial<StorageClass> = {}): Action {
  return storageClass(suffix, { volumeBindingMode: 'WaitForFirstConsumer', ...options })
}

export function csiDriver(suffix: string, spec: CSIDriver['spec']): Action {
  return (scene) => scene.api.create(CSI_DRIVERS, { metadata: { name: scene.name(suffix) }, spec })
}

const MANAGED = { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' }

interface NodeOptions {
  readonly annotations?: Record<string, string>
  readonly taints?: NonNullable<Node['spec']>['taints']
  readonly ready?: boolean
}

/** Creates a node. By default it is ready, and the attach/detach controller attaches its volumes. */
export function node(suffix: string, { annotations = MANAGED, taints, ready = true }: NodeOptions = {}): Action {
  return async (scene) => {
    const ref = { name: scene.name(suffix) }
    await scene.api.create(NODES, { metadata: { ...ref, annotations }, spec: { ...(taints && { taints }) } })
    await scene.api.merge(NODES, { ...ref, subresource: 'status' }, { status: readiness(ready) })
  }
}

export function readiness(ready: boolean): object {
  return { conditions: [{ type: 'Ready', status: ready ? 'True' : 'Unknown' }] }
}

interface PodOptions {
  /** The node of the pod. Without it the pod is not scheduled. */
  readonly node?: string
  /** The claims that the pod uses. */
  readonly claims?: readonly string[]
  readonly volumes?: readonly object[]
  readonly spec?: Partial<NonNullable<Pod['spec']>>
  /** Adds a finalizer, so that the pod can be compared while it is being deleted. */
  readonly withFinalizer?: boolean
}

export function pod(
  suffix: string,
  { node: place, claims = [], volumes = [], spec, withFinalizer }: PodOptions,
): Action {
  const all = [...claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })), ...volumes]
  return (scene) => {
    const { metadata, ...rest } = objects.pod(scene.id, suffix, all)
    const finalizers = withFinalizer ? { finalizers: ['example.com/held'] } : {}
    const placed = place === undefined ? {} : { nodeName: scene.name(place) }
    return scene.api.create(PODS, {
      ...rest,
      metadata: { ...metadata, ...finalizers },
      spec: { containers: [], ...rest.spec, ...placed, ...spec },
    })
  }
}

/** Reports a status of the pod, as a kubelet does. */
export function phase(suffix: string, phaseIs: string, status: object = {}): Action {
  return reported(PODS, suffix, { phase: phaseIs, ...status })
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

export function changed(resource: Resource<unknown>, suffix: string, body: Body): Action {
  return (scene) => scene.api.merge(resource, refIn(scene, resource, suffix), bodyOf(body, scene))
}

/** Returns an action that merges these fields into the status of an object. */
export function reported(resource: Resource<unknown>, suffix: string, status: Body): Action {
  return (scene) => {
    const ref = { ...refIn(scene, resource, suffix), subresource: 'status' }
    return scene.api.merge(resource, ref, { status: bodyOf(status, scene) })
  }
}

/** Wraps an action that the API server must refuse. */
export function refused(action: Action): Action {
  return async (scene) => {
    try {
      await action(scene)
    } catch (error) {
      if (error instanceof ApiRefusal) return
      throw error
    }
    throw new Error('it was not refused')
  }
}

export function deleted(resource: Resource<unknown>, suffix: string): Action {
  return (scene) => scene.api.delete(resource, refIn(scene, resource, suffix))
}

/** Deletes an object and removes its finalizers. */
export function deletedAtOnce(resource: Resource<unknown>, suffix: string): Action {
  return async (scene) => {
    const ref = refIn(scene, resource, suffix)
    await scene.api.delete(resource, ref)
    if ((await scene.api.find(resource, ref)) === undefined) return
    await scene.api.merge(resource, ref, { metadata: { finalizers: null } })
  }
}

/** Reports these volumes as in use, as the kubelet of the node does. */
export function inUse(suffix: string, ...volumes: readonly string[]): Action {
  return reported(NODES, suffix, (scene) => ({
    volumesInUse: volumes.map((name) => `kubernetes.io/csi/${scene.driver}^${scene.name(name)}-handle`),
  }))
}

/** Deletes the attachments of a volume, as another client does. */
export function attachmentsDeleted(volumeName: string): Action {
  return async (scene) => {
    for (const { metadata, spec } of await scene.api.list(VOLUME_ATTACHMENTS)) {
      if (spec.source.persistentVolumeName !== scene.name(volumeName)) continue
      await scene.api.delete(VOLUME_ATTACHMENTS, { name: metadata?.name ?? '' })
    }
  }
}
