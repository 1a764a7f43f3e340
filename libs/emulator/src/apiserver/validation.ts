import { invalid } from './api-failure.ts'
import type { KubeObject } from './json.ts'
import type { Kind } from './kinds.ts'
import { checkMeta, checkMetaUpdate } from './object-meta.ts'
import { Problems } from './problems.ts'
import { strategyOf } from './strategies/index.ts'

/** Checks a new object, or with `old` an update of it or of its status. Throws 422 with all that is wrong. */
export function validate(
  kind: Kind,
  object: KubeObject,
  update?: { readonly old: KubeObject; readonly status: boolean },
): void {
  const problems = new Problems()
  const strategy = strategyOf(kind)
  if (update !== undefined) checkMetaUpdate(problems, object, update.old)
  if (update?.status !== true) {
    checkMeta(problems, kind, object, strategy)
    strategy.validate?.(problems, object)
  }
  if (update !== undefined) {
    const check = update.status ? strategy.validateStatus : strategy.validateUpdate
    check?.(problems, object, update.old)
  }
  if (!problems.none) throw invalid(kind, object.metadata.name ?? '', problems.causes)
}
