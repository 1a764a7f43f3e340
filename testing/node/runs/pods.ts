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
