import { invalid } from '../http/api-failure.ts'
import { FieldErrors } from '../http/field-errors.ts'
import { type ApiObject, at } from '../schema/json.ts'
import type { ServedKind } from '../schema/kinds.ts'
import { strategyOf } from './index.ts'
import { checkMeta, checkMetaUpdate } from './object-meta.ts'

/** Checks a new object, or an update of an object or of its status. Throws 422 with all errors. */
export function validate(
  kind: ServedKind,
  object: ApiObject,
  update?: { readonly old: ApiObject; readonly status: boolean },
): void {
  const errors = new FieldErrors()
  const strategy = strategyOf(kind)
  if (update !== undefined) checkMetaUpdate(errors, object, { old: update.old, ...strategy })
  if (update?.status !== true) {
    checkMeta(errors, object, { kind, rules: strategy })
    strategy.rules?.(errors, '', object)
    strategy.validate?.(errors, object, update?.old)
  }
  if (update !== undefined && !update.status) {
    for (const path of strategy.fixed ?? []) {
      const steps = path.split('.')
      errors.unchanged(path, at(object, ...steps), at(update.old, ...steps))
    }
  }
  if (update !== undefined) {
    const check = update.status ? strategy.validateStatus : strategy.validateUpdate
    check?.(errors, object, update.old)
  }
  if (!errors.none) throw invalid(kind, object.metadata.name ?? '', errors.causes)
}
