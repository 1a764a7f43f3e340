import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { FLAG_KEYS } from '../tools/flag-keys.ts'
import { withFlags } from '../tools/flag-schema.ts'
import { flagTemplates } from '../tools/flag-templates.ts'
import { SCHEMA_FILE, TEMPLATES_FILE } from '../tools/generated.ts'
import { documentedValues } from '../tools/value-comments.ts'
import { get } from './values.ts'

const schema = (): unknown => JSON.parse(readFileSync(SCHEMA_FILE, 'utf8'))

describe('generated files (npm exec -- node tools/docs/main.ts)', () => {
  it('templates/_flags.tpl equals the text that is generated from the flags', () => {
    expect(readFileSync(TEMPLATES_FILE, 'utf8')).toBe(flagTemplates())
  })

  it('values.schema.json equals the schema that is generated from the flags and values.yaml', () => {
    expect(schema()).toEqual(withFlags(schema()))
  })
})

describe('a flag that is new', () => {
  const [pattern] = FLAG_KEYS.filter(({ flag }) => flag.name === 'retry-interval-max')
  if (pattern === undefined) throw new Error('no flag to follow')

  it('a new flag becomes an argument in the generated template', () => {
    const flag = { ...pattern.flag, name: 'new-flag' }
    expect(flagTemplates([{ ...pattern, flag, name: 'newKey' }])).toContain(
      '{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "new-flag" "value" .section.newKey) -}}',
    )
  })

  it('a new flag becomes a property of the schema in each section that has the flag', () => {
    const without = structuredClone(schema()) as { properties: Record<string, { properties: Record<string, unknown> }> }
    for (const app of ['attacher', 'resizer']) delete without.properties[app]?.properties['retryIntervalMax']
    delete without.properties['logging']?.properties['backlogInterval']
    const made = withFlags(without)
    for (const key of ['attacher.retryIntervalMax', 'resizer.retryIntervalMax', 'logging.backlogInterval']) {
      const path = key.replaceAll('.', '.properties.')
      expect(get(made, `properties.${path}.$ref`)).toBe('#/definitions/duration')
    }
  })
})

describe('values.yaml', () => {
  it.each(documentedValues().filter(({ isSection }) => !isSection))(
    'values.yaml describes $key in a comment',
    ({ description }) => {
      expect(description).not.toBe('')
    },
  )

  it('the schema has the descriptions from the comments of values.yaml', () => {
    const { description } = documentedValues().find(({ key }) => key === 'attacher.retryIntervalMax') ?? {}
    expect(description).toBe('Longest pause between two tries of one object. --retry-interval-max')
    expect(get(schema(), 'properties.attacher.properties.retryIntervalMax.description')).toBe(description)
  })
})
