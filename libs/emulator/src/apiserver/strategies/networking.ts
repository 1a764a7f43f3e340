import type { FieldErrors } from '../http/field-errors.ts'
import { at, type Json, type KubeObject, listAt, objectAt, textAt } from '../schema/json.ts'
import type { Strategy } from './strategy.ts'

export const networkPolicyStrategy: Strategy = {
  defaults(object) {
    const spec = objectAt(object, 'spec') ?? {}
    const types = listAt(spec, 'policyTypes')
    const implied = listAt(spec, 'egress').length === 0 ? ['Ingress'] : ['Ingress', 'Egress']
    const rules = (field: string): object =>
      spec[field] === undefined ? {} : { [field]: listAt(spec, field).map(withProtocols) }
    return {
      ...object,
      spec: { ...spec, policyTypes: types.length === 0 ? implied : types, ...rules('ingress'), ...rules('egress') },
    }
  },
  validate(errors, object) {
    listAt(object, 'spec', 'policyTypes').forEach((type, index) => {
      errors.oneOf(`spec.policyTypes[${index}]`, type, ['Ingress', 'Egress'])
    })
  },
}

function withProtocols(rule: Json): Json {
  if (objectAt(rule)?.['ports'] === undefined) return rule
  return { ...Object(rule), ports: listAt(rule, 'ports').map((port) => ({ protocol: 'TCP', ...Object(port) })) }
}

const HIGHEST_PRIORITY = 1_000_000_000

export const priorityClassStrategy: Strategy = {
  defaults: (object) => ({ ...object, preemptionPolicy: object['preemptionPolicy'] ?? 'PreemptLowerPriority' }),
  validate: checkPriority,
  validateUpdate(errors, object, old) {
    if (object['value'] !== old['value']) errors.forbidden('value', 'may not be changed in an update.')
    errors.unchanged('preemptionPolicy', object['preemptionPolicy'], old['preemptionPolicy'])
  },
}

function checkPriority(errors: FieldErrors, object: KubeObject): void {
  const value = at(object, 'value')
  const system = object.metadata.name?.startsWith('system-') === true
  if (!system && typeof value === 'number' && value > HIGHEST_PRIORITY) {
    errors.forbidden('value', `maximum allowed value of a user defined priority is ${HIGHEST_PRIORITY}`)
  }
  errors.oneOf('preemptionPolicy', textAt(object, 'preemptionPolicy'), ['PreemptLowerPriority', 'Never'])
}
