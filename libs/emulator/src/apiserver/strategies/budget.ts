import { at } from '../schema/json.ts'
import type { Strategy } from './strategy.ts'

export const podDisruptionBudgetStrategy: Strategy = {
  validate(errors, object) {
    const [least, most] = ['minAvailable', 'maxUnavailable'].map((field) => at(object, 'spec', field))
    if (least !== undefined && most !== undefined) {
      const why = 'minAvailable and maxUnavailable cannot be both set'
      errors.invalid('spec', object['spec'], why)
    }
  },
}
