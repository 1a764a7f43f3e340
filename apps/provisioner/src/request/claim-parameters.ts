import { messageOf } from '@csi-sidecars/base'
import {
  expandParameters,
  isTemplate,
  objectVariable,
  PARAMETER_VALUES,
  parameterRecord,
  recordedValues,
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
  readonly valuesAnnotation: string | undefined
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
  if (!Object.values(parameters).some(isTemplate)) return { parameters, valuesAnnotation: undefined }
  const earlier = usesRecord
    ? recordedValues(claim.requestedVolume?.annotations[PARAMETER_VALUES], claim.uid)
    : undefined
  try {
    const expanded = expandParameters(parameters, { read: (name) => variableOf(name, claim, volumeName), earlier })
    return { parameters: expanded.parameters, valuesAnnotation: parameterRecord(claim.uid, expanded.values) }
  } catch (cause) {
    throw new ProvisionError(messageOf(cause), { cause })
  }
}

/** Returns the parameters without templates, for calls that are not about one claim. */
export function withoutTemplates(parameters: Parameters): Record<string, string> {
  return Object.fromEntries(Object.entries(parameters).filter(([, text]) => !isTemplate(text)))
}

function variableOf(
  variable: string,
  { key, requestedVolume }: ProvisionerClaim,
  volumeName: string,
): string | undefined {
  if (variable === 'pv.name') return volumeName
  return objectVariable(variable, {
    prefix: 'pvc',
    ...namespacedRef(key),
    entries: (map) => (map === 'labels' ? parseLabels(requestedVolume?.labels ?? '') : requestedVolume?.annotations),
  })
}

function parseLabels(text: string): Parameters {
  return text === '' ? {} : (JSON.parse(text) as Parameters)
}
