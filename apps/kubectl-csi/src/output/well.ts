import type { SubjectKind } from '../facts/collect.ts'
import { type ClusterFacts, claimNamesOf, type KindRef, keyOf, objectOf } from '../facts/facts.ts'
import { volumeNameOf } from '../findings/around.ts'

const NOTHING_STUCK = 'nothing is stuck.'

/** The text about an object of each kind if nothing is stuck. */
export const WELL: Readonly<Record<SubjectKind, (subject: KindRef, facts: ClusterFacts) => string>> = {
  pod: (subject, { pods }) => {
    const pod = pods.find(({ metadata }) => metadata?.name === subject.name && metadata.namespace === subject.namespace)
    const claims = pod === undefined ? [] : claimNamesOf(pod)
    if (claims.length === 0) return `${NOTHING_STUCK} It uses no claims.`
    return `${NOTHING_STUCK} Its claims ${claims.join(', ')} have what they ask for.`
  },
  pvc: (subject, { claims }) => {
    const claim = objectOf(claims.get(keyOf(subject)))
    const { capacity, currentVolumeAttributesClassName: className } = claim?.status ?? {}
    const modified = className === undefined ? '' : `, and VolumeAttributesClass ${className}`
    return `${NOTHING_STUCK} It has ${capacity?.['storage'] ?? 'no capacity'} as asked for, in ${claim?.spec?.volumeName}${modified}.`
  },
  pv: (subject, { attachments }) => {
    const nodes = attachments.filter((va) => volumeNameOf(va) === subject.name).map(({ spec }) => spec?.nodeName)
    return `${NOTHING_STUCK} It is attached to ${nodes.length === 0 ? 'no node' : nodes.join(', ')}.`
  },
  va: (subject, { attachments }) => {
    const spec = attachments.find(({ metadata }) => metadata?.name === subject.name)?.spec
    return `${NOTHING_STUCK} Volume ${spec?.source.persistentVolumeName} is attached to node ${spec?.nodeName}.`
  },
  vs: ({ namespace, name }, { snapshots }) => {
    const { status } = objectOf(snapshots.get(keyOf({ namespace, name }))) ?? {}
    return `${NOTHING_STUCK} It is ready, in ${status?.boundVolumeSnapshotContentName}.`
  },
  vsc: ({ name }, { contents }) => {
    const { status } = objectOf(contents.get(name)) ?? {}
    return `${NOTHING_STUCK} It is ready, as snapshot ${status?.snapshotHandle}.`
  },
  node: (_, { attachments }) => `${NOTHING_STUCK} Volumes attached to it: ${attachments.length}.`,
}
