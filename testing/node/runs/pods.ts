import { list } from '../deploy/kubectl.ts'
import type { NodeRecord } from '../machine/record.ts'
import { until } from '../machine/until.ts'

/** The result of a run in a few words, and its time. */
export interface RunSummary {
  readonly text: string
  readonly seconds: number
}

/** A pod, as far as the runs look into it. */
export interface Pod {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string }
  readonly spec: { readonly containers: readonly Container[] }
  readonly status: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
    readonly containerStatuses?: readonly { readonly name: string; readonly restartCount: number }[]
  }
}

interface Container {
  readonly name: string
  readonly image: string
  readonly args?: readonly string[]
  readonly ports?: readonly { readonly containerPort: number }[]
  readonly securityContext?: { readonly readOnlyRootFilesystem?: boolean }
  readonly resources?: { readonly limits?: Readonly<Record<string, string>> }
}

/** Returns how often the containers of the pods were restarted, in total. */
export function restartsOf(pods: readonly Pod[]): number {
  const all = pods.flatMap(({ status }) => status.containerStatuses ?? [])
  return all.reduce((sum, { restartCount }) => sum + restartCount, 0)
}

export function isReady({ metadata, status }: Pod): boolean {
  const ready = status.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True')
  return metadata.deletionTimestamp === undefined && ready === true
}

/** Returns the names of the objects that exist for volumes and snapshots in the whole cluster. */
export function volumeObjects(node: NodeRecord): readonly string[] {
  const kinds = 'persistentvolumes,volumeattachments,volumesnapshotcontents'
  return list(node, kinds).map(({ kind, metadata }) => `${kind}/${metadata.name}`)
}

/** Waits until only those objects of volumes and snapshots exist that existed before. */
export async function volumesEnded(node: NodeRecord, before: readonly string[]): Promise<void> {
  const left = (): readonly string[] => volumeObjects(node).filter((name) => !before.includes(name))
  await until('end of all volumes', () => left().length === 0, { seconds: 180, diagnose: () => left().join(' ') })
}
