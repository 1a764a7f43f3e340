import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { ROOT, readBundle, readJson, SIDECARS } from './bundle.ts'
import { homeOf } from './fill.ts'

/** A statement in the format of https://openvex.dev, version 0.2.0. */
interface Statement {
  readonly vulnerability: { readonly '@id'?: string; readonly name: string }
  readonly products: readonly { readonly '@id': string; readonly subcomponents?: readonly object[] }[]
  readonly status: string
  readonly justification?: string
  readonly impact_statement?: string
  readonly action_statement?: string
}

interface OpenVex {
  readonly '@context': string
  readonly '@id': string
  readonly author: string
  readonly timestamp: string
  readonly version: number
  readonly statements: readonly Statement[]
}

const vex = readJson<OpenVex>(join(ROOT, 'images/vex.openvex.json'))
const named = vex.statements.map((statement) => [statement.vulnerability.name, statement] as const)

const JUSTIFICATIONS = [
  'component_not_present',
  'vulnerable_code_not_present',
  'vulnerable_code_not_in_execute_path',
  'vulnerable_code_cannot_be_controlled_by_adversary',
  'inline_mitigations_already_exist',
]
const PRODUCTS = SIDECARS.flatMap((name) => [`pkg:oci/${name}`, `pkg:generic/${name}`])

describe('images/vex.openvex.json', () => {
  it('the VEX document has the OpenVEX format, and names this repository as its author', () => {
    expect(vex).toMatchObject({ '@context': 'https://openvex.dev/ns/v0.2.0', version: expect.any(Number) })
    expect([vex.author, vex['@id']]).toEqual([
      `https://github.com/${homeOf(ROOT)}`,
      expect.stringContaining(homeOf(ROOT)),
    ])
    expect(new Date(vex.timestamp).toISOString()).toBe(vex.timestamp.replace('Z', '.000Z'))
    expect(Number.isInteger(vex.version) && vex.version > 0).toBe(true)
  })

  it('the VEX document contains one statement for each CVE or GHSA ID', () => {
    const names = named.map(([name]) => name)
    expect(names.length).toBeGreaterThan(0)
    expect(names.filter((name) => !/^(?:CVE-\d{4}-\d{4,}|GHSA(?:-[\w]{4}){3})$/.test(name))).toEqual([])
    expect(new Set(names).size).toBe(names.length)
  })

  it.each(named)('the VEX document states a status, a reason and the products for %s', (_, statement) => {
    expect(statement.products.map((product) => product['@id'])).toEqual(PRODUCTS)
    const { status, justification, impact_statement, action_statement } = statement
    if (status === 'not_affected') {
      expect(JUSTIFICATIONS).toContain(justification)
      expect(impact_statement).toMatch(/^[A-Z].+\.$/)
    } else {
      expect(['affected', 'fixed', 'under_investigation']).toContain(status)
      expect(justification).toBeUndefined()
      if (status === 'affected') expect(action_statement).toMatch(/^[A-Z].+\.$/)
    }
  })

  it.each(named)('every file that the VEX document names for %s exists', (_, { impact_statement = '' }) => {
    const files = impact_statement.match(/[\w-]+\/[\w/.-]+\.ts/g) ?? []
    expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([])
  })

  // Several statements of the VEX document are true only because no bundle uses these functions, flags and formats.
  it.each(SIDECARS)('the bundle of %s contains no function or flag that the VEX document calls unused', (name) => {
    const { file, flags } = readBundle(name)
    const text = readFileSync(file, 'latin1')
    expect(text.match(/brotli|randomUUID|randomInt|createObjectURL|realpathSync|\bzip\w*Archive/gi)).toBeNull()
    expect(flags).not.toContain('--permission')
    expect(JSON.stringify(readJson(join(file, '../sea.json')))).not.toContain('useSnapshot')
  })
})
