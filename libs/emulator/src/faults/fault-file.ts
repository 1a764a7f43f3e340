import { readFile } from 'node:fs/promises'
import { messageOf } from '@csi-sidecars/base'
import type { DriverRule } from './call-faults.ts'
import type { RequestRule } from './request-faults.ts'

/** The content of a fault file: rules for each of the two servers. */
interface FaultFile {
  readonly api: readonly RequestRule[]
  readonly driver: readonly DriverRule[]
}

/** A fault file that cannot be used; the message names the file and the place. */
export class FaultFileError extends Error {
  override readonly name = 'FaultFileError'
}

const RULE_FIELDS = ['name', 'match', 'skip', 'times', 'share', 'action']
const API_MATCH = ['verb', 'method', 'resource', 'namespace', 'name', 'user', 'userAgent']
const DRIVER_MATCH = ['method', 'volumeId', 'nodeId', 'name', 'snapshotId']
const API_ACTIONS: Readonly<Record<string, readonly string[]>> = {
  answer: ['code', 'reason', 'message', 'retryAfterSeconds', 'applied'],
  delay: ['ms'],
  hang: ['applied'],
  cut: ['applied'],
  endWatch: ['afterFrames', 'afterMs', 'how'],
}
const DRIVER_ACTIONS: Readonly<Record<string, readonly string[]>> = {
  fail: ['code', 'message', 'retryAfterMs', 'applied'],
  delay: ['ms'],
  hang: ['applied'],
  crash: ['applied'],
}

/** Reads a fault file. A word that it does not know is an error, not a rule that never applies. */
export async function readFaultFile(file: string): Promise<FaultFile> {
  try {
    return parseFaults(JSON.parse(await readFile(file, 'utf8')))
  } catch (error) {
    throw new FaultFileError(`${file}: ${messageOf(error)}`, { cause: error })
  }
}

export function parseFaults(value: unknown): FaultFile {
  const { api = [], driver = [] } = fields(value, 'the file', ['api', 'driver'])
  const check = (rules: unknown, where: string, known: RuleSchema): void => {
    if (!Array.isArray(rules)) throw new FaultFileError(`${where} must be a list of rules`)
    rules.forEach((rule, index) => {
      checkRule(rule, `${where}[${index}]`, known)
    })
  }
  check(api, 'api', { match: API_MATCH, actions: API_ACTIONS })
  check(driver, 'driver', { match: DRIVER_MATCH, actions: DRIVER_ACTIONS })
  return { api: api as readonly RequestRule[], driver: driver as readonly DriverRule[] }
}

interface RuleSchema {
  readonly match: readonly string[]
  readonly actions: Readonly<Record<string, readonly string[]>>
}

function checkRule(value: unknown, where: string, known: RuleSchema): void {
  const rule = fields(value, where, RULE_FIELDS)
  if (rule['match'] !== undefined) fields(rule['match'], `${where}.match`, known.match)
  for (const field of ['skip', 'times', 'share']) {
    const given = rule[field]
    if (given !== undefined && (typeof given !== 'number' || given < 0)) {
      throw new FaultFileError(`${where}.${field} must be a number`)
    }
  }
  const action = Object(rule['action']) as Readonly<Record<string, unknown>>
  const parameters = known.actions[String(action['do'])]
  if (parameters === undefined) {
    throw new FaultFileError(`${where}.action.do must be one of ${Object.keys(known.actions).join(', ')}`)
  }
  fields(action, `${where}.action`, ['do', ...parameters])
}

function fields(value: unknown, where: string, known: readonly string[]): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new FaultFileError(`${where} must be an object`)
  }
  const strange = Object.keys(value).find((key) => !known.includes(key))
  if (strange !== undefined) throw new FaultFileError(`${where}.${strange} is not known; there are ${known.join(', ')}`)
  return value as Readonly<Record<string, unknown>>
}
