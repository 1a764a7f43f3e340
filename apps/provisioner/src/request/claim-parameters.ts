import { messageOf } from '@csi-sidecars/base'
import {
  expandParameters,
  isTemplate,
  PARAMETER_VALUES,
  parameterRecord,
  recordedValues,
  UnknownVariableError,
} from '@csi-sidecars/csi'
import { namespacedRef } from '@csi-sidecars/kube-types'
import type { ProvisionerClaim } from '../caches/claim.ts'
import { ProvisionError } from './failure.ts'

type Parameters = Readonly<Record<string, string>>

/** The parameters of CreateVolume, and the annotation that keeps them for the next try. */
export interface ClaimParameters {
  readonly parameters: Parameters
  /**
   * The annotation that must be on the claim before the call, so that the next process sends the same request. Undefined
   * if the request does not depend on values that a user can change.
   */
  readonly record: string | undefined
}

interface ClaimTemplates {
  readonly parameters: Parameters
  readonly claim: ProvisionerClaim
  readonly volumeName: string
  /** True if a call of an earlier process may be running. Its values are then used again. */
  readonly usesRecord: boolean
}

/** Replaces the variables in the parameters of a class by the facts about a claim. Throws ProvisionError. */
export function claimParameters({ parameters, claim, volumeName, usesRecord }: ClaimTemplates): ClaimParameters {
  if (!Object.values(parameters).some(isTemplate)) return { parameters, record: undefined }
  const earlier = usesRecord ? recordedValues(claim.wanted?.annotations[PARAMETER_VALUES], claim.uid) : undefined
  try {
    const expanded = expandParameters(parameters, { read: (name) => variableOf(name, claim, volumeName), earlier })
    return { parameters: expanded.parameters, record: parameterRecord(claim.uid, expanded.values) }
  } catch (cause) {
    throw new ProvisionError(messageOf(cause), { cause })
  }
}

/** Returns the parameters without templates, for calls that are not about one claim. */
export function withoutTemplates(parameters: Parameters): Record<string, string> {
  return Object.fromEntries(Object.entries(parameters).filter(([, text]) => !isTemplate(text)))
}

const MAP = /^pvc\.(labels|annotations)\['([^']*)'\]$/

function variableOf(name: string, { key, wanted }: ProvisionerClaim, volumeName: string): string | undefined {
  const ref = namespacedRef(key)
  if (name === 'pvc.name') return ref.name
  if (name === 'pvc.namespace') return ref.namespace
  if (name === 'pv.name') return volumeName
  const [, map, entry = ''] = MAP.exec(name) ?? []
  if (map === undefined) throw new UnknownVariableError(name)
  const values = map === 'labels' ? labelsOf(wanted?.labels ?? '') : (wanted?.annotations ?? {})
  return Object.hasOwn(values, entry) ? values[entry] : undefined
}

function labelsOf(text: string): Parameters {
  return text === '' ? {} : (JSON.parse(text) as Parameters)
}
