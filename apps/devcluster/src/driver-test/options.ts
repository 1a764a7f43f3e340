import type { InferredOptionTypes } from 'yargs'
import { PROGRAM, parseSeeds } from '../options.ts'
import { KINDS, type Kind } from './abilities.ts'

/** What a person asks for after `test`. */
export interface TestOptions {
  /** `unix:///path`. */
  readonly driver: string
  readonly driverCommand: string | undefined
  readonly nodeIds: readonly string[]
  readonly capabilities: readonly Kind[] | undefined
  readonly parameters: Readonly<Record<string, string>>
  readonly seeds: readonly number[]
  readonly seconds: number
  readonly patienceSeconds: number
  readonly attacher: string | undefined
  readonly resizer: string | undefined
  /** Where the reports go. */
  readonly junit: string | undefined
  readonly markdown: string | undefined
}

/** As Linux has it, and the end of the text after it. */
const LONGEST_PATH = 107

export const TEST_FLAGS = {
  driver: { type: 'string', describe: "The driver's socket, unix:///path", requiresArg: true },
  'driver-command': {
    type: 'string',
    describe: 'Starts the driver, in the foreground; with it the driver is killed now and then, and started again',
    requiresArg: true,
  },
  'node-ids': {
    type: 'string',
    describe: 'What the driver calls its nodes, as i-1,i-2; without it NodeGetInfo is asked for one',
    requiresArg: true,
  },
  capabilities: {
    type: 'string',
    describe: `Kinds of volumes beside the usual one, of ${KINDS.join(',')}; without it what the driver takes`,
    requiresArg: true,
  },
  parameter: { type: 'string', array: true, describe: 'Of the StorageClass, as type=fast; again for more' },
  chaos: { type: 'string', default: '1-3', describe: 'Seeds, as 7 or 1-10', requiresArg: true },
  seed: { type: 'number', describe: 'This seed alone', requiresArg: true },
  seconds: { type: 'number', default: 30, describe: 'How long each seed disturbs', requiresArg: true },
  patience: { type: 'number', default: 60, describe: 'Seconds in which all has to come right', requiresArg: true },
  attacher: { type: 'string', describe: 'Another csi-attacher to run', requiresArg: true },
  resizer: { type: 'string', describe: 'Another csi-resizer to run', requiresArg: true },
  report: { type: 'string', describe: 'Write a JUnit report to this file', requiresArg: true },
  markdown: { type: 'string', describe: 'Write a Markdown report to this file', requiresArg: true },
} as const

/** Throws one line that says what is wrong with them. */
export function testOptions(values: InferredOptionTypes<typeof TEST_FLAGS>): TestOptions {
  const { driver, attacher, resizer, report, markdown } = values
  if (driver === undefined) throw new Error('--driver is required: the socket of the driver to test, unix:///path')
  const path = driver.replace(/^unix:\/\//, '')
  if (Buffer.byteLength(path) > LONGEST_PATH) {
    throw new Error(`--driver ${driver}: the path of a socket has ${LONGEST_PATH} bytes at most`)
  }
  if (!/^unix:\/\/.|^\//.test(driver))
    throw new Error(`--driver ${driver}: only unix sockets are known, as unix:///path`)
  return {
    driver,
    driverCommand: values['driver-command'],
    nodeIds: listOf(values['node-ids']) ?? [],
    capabilities: listOf(values.capabilities)?.map(kindOf),
    parameters: Object.fromEntries((values.parameter ?? []).map(parameterOf)),
    seeds: values.seed === undefined ? parseSeeds(values.chaos) : parseSeeds(String(values.seed)),
    seconds: positive('seconds', values.seconds),
    patienceSeconds: positive('patience', values.patience),
    attacher,
    resizer,
    junit: report,
    markdown,
  }
}

/** The flags that repeat a run with another seed, but for its reports. */
export function againLine(options: TestOptions, seed: number): string {
  const { driver, driverCommand, nodeIds, capabilities, parameters, seconds, patienceSeconds } = options
  const given: readonly (readonly [string, string | number | undefined])[] = [
    ['driver', driver],
    ['driver-command', driverCommand],
    ['node-ids', nodeIds.length > 0 ? nodeIds.join(',') : undefined],
    ['capabilities', capabilities?.join(',')],
    ...Object.entries(parameters).map(([key, value]) => ['parameter', `${key}=${value}`] as const),
    ['attacher', options.attacher],
    ['resizer', options.resizer],
    ['seconds', seconds],
    ['patience', patienceSeconds],
    ['seed', seed],
  ]
  const flags = given.flatMap(([name, value]) => (value === undefined ? [] : [quoted(`--${name}=${value}`)]))
  return `${PROGRAM} test ${flags.join(' ')}`
}

/** As a shell takes it for one word. */
function quoted(value: string): string {
  return /^[\w@%+=:,./-]*$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`
}

function listOf(text: string | undefined): readonly string[] | undefined {
  return text?.split(',').filter((each) => each !== '')
}

function kindOf(name: string): Kind {
  const known = KINDS.find((each) => each === name)
  if (known === undefined) throw new Error(`--capabilities ${name}: known are ${KINDS.join(', ')}`)
  return known
}

function parameterOf(text: string): [string, string] {
  const at = text.indexOf('=')
  if (at < 1) throw new Error(`--parameter ${text}: it is as type=fast`)
  return [text.slice(0, at), text.slice(at + 1)]
}

function positive(name: string, value: number): number {
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} must be a whole number of 1 or more`)
  return value
}
