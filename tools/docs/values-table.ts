import { documentedValues } from '../../charts/tools/value-comments.ts'
import { code, table } from './markdown.ts'

/** Every value of the chart, as values.yaml describes it. */
export function valuesTable(): string {
  const rows = documentedValues().flatMap(({ key, description, default: value, isSection }) => {
    if (isSection && description === '') return []
    return [[code(key), isSection ? '' : code(JSON.stringify(value)), description.replaceAll(/[<*]/g, '\\$&')]]
  })
  return table(['value', 'default', 'meaning'], rows)
}
