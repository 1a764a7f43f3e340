import {
  CSI_NODES,
  EVENTS,
  LEASES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolumeClaim,
  PODS,
  type Resource,
  VOLUME_ATTRIBUTES_CLASSES,
} from '@csi-sidecars/kube-types'
import { claimFindings } from '../findings/claim.ts'
import { claimsOf } from './collect.ts'
import { Collection } from './collection.ts'
import { type Facts, type KnownObjects, keyOf, objectOf } from './facts.ts'
import type { Reader } from './reader.ts'

/** Heartbeats of nodes, one for each of them. */
const NOT_OF_NODES = 'metadata.namespace!=kube-node-lease'
/** Pods that cannot be attached to for the same reason are many at a time; the first ones show it. */
const MOST_PODS = 50

/** Reads a whole cluster in lists side by side, page by page. */
export async function collectAll(into: Collection): Promise<void> {
  const { reader } = into
  const [leases] = await Promise.all([
    reader.list(LEASES, { fieldSelector: NOT_OF_NODES }),
    into.attachmentsWhere(() => true),
    all(reader, PERSISTENT_VOLUMES, into.volumes),
    all(reader, CSI_NODES, into.csiNodes),
    all(reader, VOLUME_ATTRIBUTES_CLASSES, into.attributesClasses),
    pendingClaims(into),
    events(into),
  ])
  into.leases = leases
  await waitingPods(into)
}

interface Named {
  readonly metadata?: { readonly name?: string | undefined } | undefined
}

async function all<T extends Named>(reader: Reader, resource: Resource<T>, known: KnownObjects<T>): Promise<void> {
  const listed = await reader.list(resource)
  for (const object of listed ?? []) known.set(object.metadata?.name ?? '', { is: 'present', object })
  known.complete = listed !== undefined
}

/** Claims that would have findings whatever else is known. Those that are not bound yet wait for others than sidecars. */
async function pendingClaims({ reader, claims }: Collection): Promise<void> {
  const nothing = new Collection(reader).facts(0, 0)
  const where = (claim: PersistentVolumeClaim): boolean => {
    const ours = claim.status?.phase === 'Bound' || claim.metadata?.deletionTimestamp !== undefined
    return ours && isPending(claim, nothing)
  }
  for (const object of (await reader.list(PERSISTENT_VOLUME_CLAIMS, { where })) ?? []) {
    const { namespace, name = '' } = object.metadata ?? {}
    claims.set(keyOf({ namespace, name }), { is: 'present', object })
  }
}

/** One that is not understood is kept, and reported later. */
function isPending(claim: PersistentVolumeClaim, nothing: Facts): boolean {
  try {
    return claimFindings(claim, nothing).length > 0
  } catch {
    return true
  }
}

const EVENTS_OF_SIDECARS = 'involvedObject.kind=PersistentVolumeClaim'
const EVENTS_OF_PODS = 'involvedObject.kind=Pod,reason=FailedAttachVolume'

async function events({ reader, events: known }: Collection): Promise<void> {
  const lists = await Promise.all(
    [EVENTS_OF_SIDECARS, EVENTS_OF_PODS].map((fieldSelector) => reader.list(EVENTS, { fieldSelector })),
  )
  for (const event of lists.flatMap((list) => list ?? [])) known.push(event)
}

/** The pods whose attaches have failed before they were requested: nothing else in the cluster shows those. */
async function waitingPods(into: Collection): Promise<void> {
  const refs = into.events
    .filter(({ reason, message }) => reason === 'FailedAttachVolume' && message?.includes('Multi-Attach') === true)
    .map(({ involvedObject: { namespace, name = '' } }) => ({ namespace, name }))
  const distinct = new Map(refs.map((ref) => [keyOf(ref), ref]))
  await Promise.all(
    [...distinct.values()].slice(0, MOST_PODS).map(async (ref) => {
      const pod = objectOf(await into.reader.get(PODS, ref))
      if (pod === undefined) return
      into.addPod(pod)
      await claimsOf(pod, into)
    }),
  )
}
