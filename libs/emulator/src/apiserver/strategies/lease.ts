import { at } from '../schema/json.ts'
import type { Strategy } from './strategy.ts'

export const leaseStrategy: Strategy = {
  anyFinalizer: true,
  validate(errors, object) {
    const duration = at(object, 'spec', 'leaseDurationSeconds')
    if (typeof duration === 'number' && duration <= 0) {
      errors.invalid('spec.leaseDurationSeconds', duration, 'must be greater than 0')
    }
    const transitions = at(object, 'spec', 'leaseTransitions')
    if (typeof transitions === 'number' && transitions < 0) {
      errors.invalid('spec.leaseTransitions', transitions, 'must be greater than or equal to 0')
    }
    if ((at(object, 'spec', 'preferredHolder') ?? '') !== '' && (at(object, 'spec', 'strategy') ?? '') === '') {
      errors.forbidden('spec.preferredHolder', 'may only be specified if `strategy` is defined')
    }
  },
}
