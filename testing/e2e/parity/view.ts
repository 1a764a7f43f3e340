import {
  type Event,
  isJsonObject,
  type KubeObject,
  type Node,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type VolumeAttachment,
} from '@csi-sidecars/kube-types'

/** All objects of one API server that controllers may have changed. */
export interface Objects {
  readonly claims: readonly PersistentVolumeClaim[]
  readonly volumes: readonly PersistentVolume[]
  readonly attachments: readonly VolumeAttachment[]
  readonly pods: readonly Pod[]
  readonly nodes: readonly Node[]
  readonly events: readonly Event[]
}

/** The state of a scenario to compare: the fields of its objects and its events. Random names are replaced. */
export interface View {
  /** The values by object, such as `PersistentVolumeClaim data`, and by field. */
  readonly objects: ReadonlyMap<string, ReadonlyMap<string, string>>
  readonly events: ReadonlySet<string>
}

/** Returns the compared state of the scenario with this ID. */
export function viewOf(id: string, all: Objects): View {
  const ownObjects = ownOf(id, all)
  const plain = plainTexts(ownObjects)
  const objects = new Map<string, ReadonlyMap<string, string>>()
  const add = (kind: string, object: KubeObject, fields: object): void => {
    const texts = Object.entries({ ...common(object), ...fields }).flatMap(([field, value]): [string, string][] =>
      isNothing(value) ? [] : [[field, plain(textOf(value))]],
    )
    objects.set(`${kind} ${plain(object.metadata?.name ?? '')}`, new Map(texts))
  }
  for (const object of ownObjects.claims) add('PersistentVolumeClaim', object, claimFields(object))
  for (const object of ownObjects.volumes) add('PersistentVolume', object, volumeFields(object))
  for (const object of ownObjects.attachments) add('VolumeAttachment', object, attachmentFields(object))
  for (const object of ownObjects.pods) add('Pod', object, podFields(object))
  for (const object of ownObjects.nodes) add('Node', object, nodeFields(object))
  const events = ownObjects.events.map((event) => plain(eventText(event))).filter((text) => !LOST_RACE.test(text))
  return { objects, events: new Set(events) }
}

/** The message of a conflict. Events with this message occur at random and are not compared. */
const LOST_RACE = /the object has been modified; please apply your changes to the latest version/

/** Returns the objects that belong to a scenario. */
function ownOf(id: string, { claims, volumes, attachments, pods, nodes, events }: Objects): Objects {
  const isNamed = (name = ''): boolean => name.startsWith(`${id}-`) || name.includes(`-${id}-`)
  const isOwn = ({ metadata }: KubeObject): boolean => metadata?.namespace === id || isNamed(metadata?.name)
  const ownVolumes = volumes.filter((each) => isOwn(each) || each.spec?.claimRef?.namespace === id)
  const names = new Set(ownVolumes.map(({ metadata }) => metadata?.name))
  return {
    claims: claims.filter(isOwn),
    volumes: ownVolumes,
    attachments: attachments.filter(({ spec }) => isNamed(spec.nodeName)),
    pods: pods.filter(isOwn),
    nodes: nodes.filter(isOwn),
    events: events.filter(
      ({ involvedObject: { namespace, name } }) => namespace === id || isNamed(name) || names.has(name),
    ),
  }
}

/** Returns a function that replaces generated names and UIDs by texts that are equal in both clusters. */
function plainTexts({ claims, volumes, attachments, pods, nodes }: Objects): (text: string) => string {
  const names = new Map<string, string>()
  for (const { metadata } of [claims, volumes, attachments, pods, nodes].flat()) {
    if (metadata?.uid !== undefined) names.set(metadata.uid, `(uid of ${metadata.name})`)
  }
  for (const { metadata, spec } of volumes) {
    const { uid, name } = spec?.claimRef ?? {}
    if (uid !== undefined && !names.has(uid)) names.set(uid, `(uid of ${name})`)
    // The driver chooses the handles of provisioned volumes, so the handles differ between the clusters.
    if (!isProvisioned(metadata?.name) || spec?.csi == null) continue
    names.set(spec.csi.volumeHandle, `(handle of ${metadata?.name})`)
  }
  for (const { metadata, spec } of attachments) {
    const { persistentVolumeName } = spec.source
    if (!isProvisioned(persistentVolumeName) || metadata?.name === undefined) continue
    names.set(metadata.name, `(attachment of ${persistentVolumeName} to ${spec.nodeName})`)
  }
  const replace = (text: string): string => {
    let replaced = text
    for (const [name, plain] of names) replaced = replaced.replaceAll(name, plain)
    return replaced
  }
  // The second pass replaces the claim's UID in texts such as `(handle of pvc-UID)`.
  return (text) => replace(replace(text)).replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, '(uid)')
}

function isProvisioned(name = ''): boolean {
  return name.startsWith('pvc-')
}

function isNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === false) return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

/** Returns a value as text that does not depend on the order of its keys. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  return JSON.stringify(value, (_key, each: unknown) => {
    if (!isJsonObject(each)) return each
    return Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}

function common({ metadata }: KubeObject): object {
  const { annotations, labels, finalizers, deletionTimestamp, ownerReferences } = metadata ?? {}
  return {
    annotations,
    labels,
    finalizers: [...(finalizers ?? [])].sort(),
    deleting: deletionTimestamp != null,
    owners: ownerReferences,
  }
}

function claimFields({ spec, status }: PersistentVolumeClaim): object {
  const conditions = (status?.conditions ?? []).map(({ type, status: is, reason, message }) => ({
    type,
    status: is,
    reason,
    message,
  }))
  return {
    volumeName: spec?.volumeName,
    class: spec?.storageClassName,
    ...status,
    conditions,
  }
}

function volumeFields({ spec, status }: PersistentVolume): object {
  const { resourceVersion: _, ...claimRef } = spec?.claimRef ?? {}
  const { phase, message, reason, lastPhaseTransitionTime } = status ?? {}
  return { claimRef, phase, message, reason, hasTransitionTime: lastPhaseTransitionTime != null }
}

function attachmentFields({ spec, status }: VolumeAttachment): object {
  const { attached, attachmentMetadata, attachError, detachError } = status ?? {}
  const errors = { attachError: attachError?.message, detachError: detachError?.message }
  return { attacher: spec.attacher, node: spec.nodeName, source: spec.source, attached, attachmentMetadata, ...errors }
}

/** Returns the compared fields of a pod: the phase, and the spec if a controller has created the pod. */
function podFields({ metadata, spec, status }: Pod): object {
  const made = metadata?.namespace === 'default' ? { spec: withoutDefaults(spec) } : {}
  return { phase: status?.phase, ...made }
}

function withoutDefaults(spec: Pod['spec']): object {
  const { containers, volumes, restartPolicy, activeDeadlineSeconds } = spec ?? {}
  return {
    containers: (containers ?? []).map(({ name, image, command, args, volumeMounts }) => ({
      name,
      image,
      command,
      args,
      volumeMounts,
    })),
    volumes,
    restartPolicy,
    activeDeadlineSeconds,
  }
}

function nodeFields({ status }: Node): object {
  const attached = (status?.volumesAttached ?? []).map(({ name, devicePath }) => `${name} ${devicePath}`).sort()
  return { volumesAttached: attached }
}

function eventText({ type, reason, involvedObject: { kind, name }, message = '', source }: Event): string {
  const component = source?.component?.replace(PROCESS, '')
  return `${type} ${reason} ${kind} ${name} (${component}): ${message.replace(PODS_LISTED, sorted)}`
}

/** The end of a provisioner's component name in an event: the host name and a random ID. */
const PROCESS = /_[^_]+_[0-9a-f-]{36}$/

/** The list of pods in an event message. Its order is random. */
const PODS_LISTED = /(?<=waiting for pods )\S+|(?<=already used by pod\(s\) )[^\s,]+(, [^\s,]+)*/

function sorted(names: string): string {
  return names.split(/, ?/).sort().join()
}
