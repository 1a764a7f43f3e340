import { isLabelOrAnnotation, type VariableValues } from './parameter-template.ts'

/**
 * The annotation that keeps the values in the parameters of a creation call. A process that repeats the call after a
 * restart uses them, so that it sends the same request.
 */
export const PARAMETER_VALUES = 'csi-sidecars/parameter-values'

/**
 * Returns the text of the annotation for these values. `uid` names the object whose values they are. Undefined if the
 * request does not depend on values that a user can change.
 */
export function parameterRecord(uid: string, values: VariableValues): string | undefined {
  const changeable = Object.entries(values).filter(([variable]) => isLabelOrAnnotation(variable))
  return changeable.length === 0 ? undefined : JSON.stringify({ uid, values: Object.fromEntries(changeable) })
}

/** Returns the values in the annotation. Undefined if it is of another object or cannot be read. */
export function recordedValues(text: string | undefined, uid: string): VariableValues | undefined {
  if (text === undefined) return undefined
  try {
    const record: unknown = JSON.parse(text)
    if (typeof record !== 'object' || record === null || !('uid' in record) || record.uid !== uid) return undefined
    const values = 'values' in record ? record.values : undefined
    if (typeof values !== 'object' || values === null) return undefined
    const readable = Object.entries(values).filter(([, value]) => value === null || typeof value === 'string')
    return Object.fromEntries(readable)
  } catch {
    // Anybody may have edited the annotation. The current values are then used.
    return undefined
  }
}
