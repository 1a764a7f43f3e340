import { type Claim, claimRef } from './claim.ts'

export const SNAPSHOT_KIND = 'VolumeSnapshot'
export const CLAIM_KIND = 'PersistentVolumeClaim'
export const SNAPSHOT_GROUP = 'snapshot.storage.k8s.io'

/** The values of an index of claims, by the snapshots and claims that they may be created from. */
export function sourceKeys(claim: Claim): readonly string[] {
  const { dataSource, dataSourceRef } = claim.wanted ?? {}
  const { namespace } = claimRef(claim)
  if (dataSource?.kind === CLAIM_KIND) return [cloneKey(`${namespace}/${dataSource.name}`)]
  const source = [dataSource, dataSourceRef].find(
    (each) => each?.kind === SNAPSHOT_KIND && isSnapshotGroup(each.apiGroup),
  )
  if (source === undefined) return []
  const from = source === dataSource ? namespace : source.namespace || namespace
  return [snapshotKey(`${from}/${source.name}`)]
}

const isSnapshotGroup = (group: string | null | undefined): boolean => group == null || group === SNAPSHOT_GROUP

export function cloneKey(claim: string): string {
  return `clone of ${claim}`
}

export function snapshotKey(snapshot: string): string {
  return `restore of ${snapshot}`
}
