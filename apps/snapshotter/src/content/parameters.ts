import {
  expandParameters,
  isTemplate,
  labelAndAnnotationVariables,
  objectVariable,
  parameterRecord,
  recordedValues,
} from '@csi-sidecars/csi'
import type { KubeObject } from '@csi-sidecars/kube-types'
import type { Content } from '../caches/content.ts'
import type { ContentKind } from './kinds.ts'
import type { ValuesToRecord } from './patches.ts'
import type { ContentRun } from './run.ts'

type Parameters = Readonly<Record<string, string>>
type Metadata = KubeObject['metadata']

/** The parameters of CreateSnapshot, and the values that must be stored on the content before the call. */
export interface SnapshotParameters {
  readonly parameters: Parameters
  /** Undefined if the request does not depend on values that a user can change. */
  readonly valuesToRecord: ValuesToRecord | undefined
}

/**
 * Replaces the variables in the parameters of a class by the facts about a content and its VolumeSnapshot. If a snapshot of
 * an earlier process may exist, uses the stored values of its call, because a driver refuses a name that it knows with
 * other parameters. Throws if a variable has no value; the content then waits for its VolumeSnapshot and its class.
 */
export async function snapshotParameters(
  run: ContentRun,
  { parameters, className }: { readonly parameters: Parameters; readonly className: string },
): Promise<SnapshotParameters> {
  if (!Object.values(parameters).some(isTemplate)) return { parameters, valuesToRecord: undefined }
  const { kind } = run.deps
  const changeable = labelAndAnnotationVariables(parameters)
  // The cache may lag behind the values that an earlier process has stored.
  const content = changeable.length === 0 ? run.content : await run.stored.read()
  const { refNamespace, refName, refUid, parameterValues } = content
  const earlier = mayHaveSnapshot(content) ? recordedValues(parameterValues, refUid) : undefined
  const needsSnapshot = changeable.some((variable) => earlier === undefined || !Object.hasOwn(earlier, variable))
  try {
    const metadata = needsSnapshot ? await readSnapshot(run, content) : undefined
    const read = (name: string): string | undefined => variableOf(name, { kind, content, metadata })
    const expanded = expandParameters(parameters, { read, earlier })
    const record = parameterRecord(refUid, expanded.values)
    return {
      parameters: expanded.parameters,
      valuesToRecord: record === undefined ? undefined : { record, replaced: parameterValues },
    }
  } catch (error) {
    run.signal.throwIfAborted()
    run.waitFor({ kind: 'snapshot', name: `${refNamespace}/${refName}` }, { kind: 'class', name: className })
    throw error
  }
}

/** Reports whether the driver may have a snapshot of this content, whose creation must be repeated as it was. */
function mayHaveSnapshot({ beingCreated, status }: Content): boolean {
  return beingCreated || status?.handle !== undefined
}

/** Reads the VolumeSnapshot of the content. Throws if it is gone or was recreated. */
async function readSnapshot({ deps, signal }: ContentRun, content: Content): Promise<Metadata> {
  const { kind, api } = deps
  const { refNamespace: namespace, refName: name, refUid } = content
  const { metadata } = await api.get<KubeObject>(kind.snapshots, { namespace, name }, { signal })
  if (metadata?.uid === refUid) return metadata
  throw new Error(`${kind.snapshots.kind} ${namespace}/${name} has another UID than ${refUid}`)
}

interface VariableSubject {
  readonly kind: Pick<ContentKind, 'prefix'>
  readonly content: Pick<Content, 'key' | 'refName' | 'refNamespace'>
  /** The metadata of the VolumeSnapshot. Undefined if the content has all its values. */
  readonly metadata: Metadata | undefined
}

function variableOf(variable: string, { kind: { prefix }, content, metadata }: VariableSubject): string | undefined {
  if (variable === `${prefix}content.name`) return content.key
  return objectVariable(variable, {
    prefix,
    name: content.refName,
    namespace: content.refNamespace,
    entries: (map) => metadata?.[map],
  })
}
