import type { FieldErrors } from '../http/field-errors.ts'
import { at, type KubeObject, listAt, textAt, withSpec } from '../schema/json.ts'
import { fields, items, oneOf } from './rules.ts'
import type { Strategies, Strategy } from './strategy.ts'

const networkPolicy: Strategy = {
  defaults: (object) =>
    withSpec(object, (spec) => {
      const types = listAt(spec, 'policyTypes')
      const implied = listAt(spec, 'egress').length === 0 ? ['Ingress'] : ['Ingress', 'Egress']
      return { ...spec, policyTypes: types.length === 0 ? implied : types }
    }),
  rules: fields({ spec: fields({ policyTypes: items(() => oneOf('Ingress', 'Egress')) }) }),
}

const HIGHEST_PRIORITY = 1_000_000_000

const priorityClass: Strategy = {
  validate: checkPriority,
  validateUpdate(errors, object, old) {
    if (object['value'] !== old['value']) errors.forbidden('value', 'may not be changed in an update.')
    errors.unchanged('preemptionPolicy', object['preemptionPolicy'], old['preemptionPolicy'])
  },
}

export const NETWORKING: Strategies = { NetworkPolicy: networkPolicy, PriorityClass: priorityClass }

function checkPriority(errors: FieldErrors, object: KubeObject): void {
  const value = at(object, 'value')
  const system = object.metadata.name?.startsWith('system-') === true
  if (!system && typeof value === 'number' && value > HIGHEST_PRIORITY) {
    errors.forbidden('value', `maximum allowed value of a user defined priority is ${HIGHEST_PRIORITY}`)
  }
  errors.oneOf('preemptionPolicy', textAt(object, 'preemptionPolicy'), ['PreemptLowerPriority', 'Never'])
}
