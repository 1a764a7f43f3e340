import { FakeClock } from '@csi-sidecars/base/testing'
import { describe, expect, test } from '@jest/globals'
import { LoggedRef, UNQUOTED } from './line.ts'
import { createLogger, type Logger, type LoggerOptions, silentLogger } from './logger.ts'

/** 21 November 2026, 01:09:16.289 in the zone of the test run. */
const NOW = new Date(2026, 10, 21, 1, 9, 16, 289).getTime()
const PID = String(process.pid).padStart(7)

function capture(options: Partial<LoggerOptions> = {}): { log: Logger; records: string[]; clock: FakeClock } {
  const records: string[] = []
  const clock = new FakeClock({ now: NOW })
  const write = (record: string): void => {
    records.push(record)
  }
  return { log: createLogger({ format: 'text', verbosity: 4, clock, write, ...options }), records, clock }
}

/** Returns the first record without its line number, because each edit of this file changes the number. */
const unnumbered = (records: readonly string[]): string => (records[0] ?? '').replace(/(test\.ts:)\d+/, '$1N')

describe('the text format', () => {
  test('a log line in text has level, local time with microseconds, process, caller, message and pairs', () => {
    const { log, records } = capture()
    log.info('Started', { key: 'value', count: 3 })
    expect(unnumbered(records)).toBe(`I1121 01:09:16.289000 ${PID} logger.test.ts:N] "Started" key="value" count=3\n`)
  })

  test('a warning in text differs from an info line only by its first letter', () => {
    const { log, records } = capture()
    log.with({ driver: 'd' }).warn('Strange', { count: 3 })
    expect(unnumbered(records)).toBe(`W1121 01:09:16.289000 ${PID} logger.test.ts:N] "Strange" driver="d" count=3\n`)
  })

  test('an error line in text contains `err` first, then the context, then the pairs of the call', () => {
    const { log, records } = capture()
    log.with({ driver: 'd' }).error(new Error('no "socket"'), 'Failed', { address: '/csi' })
    expect(unnumbered(records)).toBe(
      `E1121 01:09:16.289000 ${PID} logger.test.ts:N] "Failed" err="no \\"socket\\"" driver="d" address="/csi"\n`,
    )
  })

  test('an error at a level is an info line with the pair `err`, and is missing if the level is off', () => {
    const { log, records } = capture()
    log.with({ driver: 'd' }).v(3)?.error(new Error('changed'), 'Failed', { pv: 'a' })
    log.v(5)?.error(new Error('changed'), 'Failed')
    expect(records).toHaveLength(1)
    expect(unnumbered(records)).toBe(
      `I1121 01:09:16.289000 ${PID} logger.test.ts:N] "Failed" driver="d" err="changed" pv="a"\n`,
    )
  })

  test('in text, an error line without an error object has no key `err`', () => {
    const { log, records } = capture()
    log.error(undefined, 'Stopped leading')
    expect(unnumbered(records)).toMatch(/\] "Stopped leading"\n$/)
  })

  test('a fatal line in text contains only the message', () => {
    const { log, records } = capture()
    log.with({ driver: 'd' }).fatal('CSI driver does not support resize nor modify')
    expect(unnumbered(records)).toBe(
      `F1121 01:09:16.289000 ${PID} logger.test.ts:N] CSI driver does not support resize nor modify\n`,
    )
  })

  test('the text format does not escape the quotes of a message with `UNQUOTED`, but escapes line breaks', () => {
    const { log, records } = capture()
    log.with({ driver: 'd' }).warn('"a" is\r\nold', UNQUOTED)
    expect(unnumbered(records)).toMatch(/\] "a" is\\r\\nold driver="d"\n$/)
  })

  test.each<[string, unknown, string]>([
    ['text', 'a', '="a"'],
    ['empty text', '', '=""'],
    ['quotes and backslash', 'a "b" \\', '="a \\"b\\" \\\\"'],
    ['controls', 'a\tb\u0001\u007f\r', '="a\\tb\\x01\\x7f\\r"'],
    ['invisible characters', '\u00a0\u200b\u2028', '="\\u00a0\\u200b\\u2028"'],
    ['letters of any script', 'h\u00e9 \u65e5 \u{1f600}', '="h\u00e9 \u65e5 \u{1f600}"'],
    ['a lone surrogate', 'a\ud800', '="a\ufffd"'],
    ['lines', 'one\ntwo', '=<\n\tone\n\ttwo\n >'],
    ['lines with a last break', 'one\ntwo\n', '=<\n\tone\n\ttwo\n >'],
    ['lines of an error', new Error('one\n'), '=<\n\tone\n >'],
    ['numbers', 1.5, '=1.5'],
    ['large whole numbers', 9223372036854775807n, '=9223372036854775807'],
    ['NaN', Number.NaN, '="NaN"'],
    ['booleans', true, '=true'],
    ['nothing', undefined, '=null'],
    ['null', null, '=null'],
    ['objects', { a: [1, { b: null }], size: 2n ** 63n }, '={"a":[1,{"b":null}],"size":9223372036854775808}'],
    ['markup inside objects', { a: '<&>' }, '={"a":"\\u003c\\u0026\\u003e"}'],
    ['maps', new Map([['a', 1]]), '={"a":1}'],
    ['sets', new Set(['a']), '=["a"]'],
    ['errors inside objects', { cause: new Error('x') }, '={"cause":"x"}'],
    ['an object by name', new LoggedRef('pvc', 'ns'), '="ns/pvc"'],
    ['an object without namespace', new LoggedRef('pv', ''), '="pv"'],
  ])('the text format of the log prints %s', (_what, value, expected) => {
    const { log, records } = capture()
    log.info('m', { k: value })
    expect(records[0]?.replace(/^.*?\] "m" k/s, '')).toBe(`${expected}\n`)
  })

  test('the log prints an error note for a value that it cannot encode, and throws no exception', () => {
    const { log, records } = capture()
    const ring: Record<string, unknown> = {}
    ring['self'] = ring
    log.info('m', { ring })
    expect(records[0]).toMatch(/ ring="\\u003cinternal error: .*\\u003e"\n$/)
  })

  test.each([
    ['another value moves to the later place', { a: 1, b: 2 }, { a: 3 }, 'b=2 a=3'],
    ['an equal value stays at its place', { a: 1, b: 2 }, { a: 1, c: 3 }, 'a=1 b=2 c=3'],
  ])('if the context and the call of a log line have the same key, %s', (_rule, context, pairs, expected) => {
    const { log, records } = capture()
    log.with(context).info('m', pairs)
    expect(records[0]?.trimEnd().endsWith(`"m" ${expected}`)).toBe(true)
  })

  test('log lines within one millisecond of the wall clock have increasing microseconds', () => {
    const { log, records, clock } = capture({ clock: ticking() })
    for (let count = 0; count < 4; count += 1) log.info('m')
    expect(clock.pending).toBe(0)
    expect(records.map((record) => record.slice(15, 21))).toEqual(['289400', '289800', '290200', '290600'])
  })
})

test.each([
  ['text', /^\S+ \S+\.(\d{6}) /, '289625'],
  ['json', /"ts":\d+\.(\d+),/, '625'],
] as const)('the first log line in %s has the microseconds of the wall clock', (format, expression, micros) => {
  const { log, records } = capture({ format, clock: new AbsoluteClock() })
  log.info('m')
  expect(expression.exec(records[0] ?? '')?.[1]).toBe(micros)
})

test('each time in JSON has three decimals', () => {
  const { log, records } = capture({ format: 'json' })
  log.info('m')
  expect(records[0]).toMatch(new RegExp(`^\\{"ts":${NOW}\\.000,`))
})

/** A clock that knows the wall time at its start: 250 microseconds after a full millisecond. */
class AbsoluteClock extends FakeClock {
  readonly startedAt = NOW - 1000 + 0.25

  constructor() {
    super({ now: NOW })
  }

  override monotonic(): number {
    return 1000.375
  }
}

/** A clock whose monotonic time advances by 0.4 ms at each reading. Its wall time has only whole milliseconds. */
function ticking(): FakeClock {
  const clock = new FakeClock({ now: NOW })
  let looks = 0
  clock.monotonic = () => {
    looks += 1
    return (looks - 1) * 0.4
  }
  let asked = 0
  clock.now = () => {
    asked += 1
    return NOW + Math.floor(Math.max(asked - 1, 0) * 0.4)
  }
  return clock
}

describe('the JSON format', () => {
  const json = { format: 'json' } as const

  test('a log line in JSON has `ts`, `caller` with the folder, `msg`, the context, `v` and the pairs, in this order', () => {
    const { log, records } = capture(json)
    log
      .with({ driver: 'd' })
      .v(2)
      ?.info('Attaching', { volume: 'a<b', pod: new LoggedRef('p', 'ns') })
    expect(unnumbered(records)).toBe(
      `{"ts":${NOW}.000,"caller":"telemetry/logger.test.ts:N","msg":"Attaching","driver":"d","v":2,` +
        '"volume":"a<b","pod":{"name":"p","namespace":"ns"}}\n',
    )
  })

  test('a warning in JSON is a line at level 0', () => {
    const { log, records } = capture(json)
    log.with({ driver: 'd' }).warn('Strange', { count: 3 })
    expect(unnumbered(records)).toBe(
      `{"ts":${NOW}.000,"caller":"telemetry/logger.test.ts:N","msg":"Strange","driver":"d","v":0,"count":3}\n`,
    )
  })

  test('an error line in JSON has no key `v` and ends with `err`', () => {
    const { log, records } = capture(json)
    log.with({ driver: 'd' }).error(new Error('boom'), 'Failed', { a: 1, err: 'hidden' })
    expect(unnumbered(records)).toBe(
      `{"ts":${NOW}.000,"caller":"telemetry/logger.test.ts:N","msg":"Failed","driver":"d","a":1,"err":"boom"}\n`,
    )
  })

  test('in JSON, an error line without an error object has the value null for `err`', () => {
    const { log, records } = capture(json)
    log.error(undefined, 'Stopped leading')
    expect(JSON.parse(records[0] ?? '')).toMatchObject({ msg: 'Stopped leading', err: null })
  })

  test('a fatal line in JSON contains only the message, at level 0', () => {
    const { log, records } = capture(json)
    log.fatal('no use')
    expect(unnumbered(records)).toBe(`{"ts":${NOW}.000,"caller":"telemetry/logger.test.ts:N","msg":"no use","v":0}\n`)
  })

  test("in JSON, a value of the call replaces the context's value for the same key", () => {
    const { log, records } = capture(json)
    log.with({ a: 1, b: 2 }).info('m', { a: 3 })
    expect(unnumbered(records)).toMatch(/"msg":"m","b":2,"v":0,"a":3\}\n$/)
  })

  test('vmodule rules have no effect in the JSON format', () => {
    const { log } = capture({ ...json, verbosity: 0, vmodule: [{ pattern: '*', level: 9 }] })
    expect(log.v(1)).toBeUndefined()
  })
})

describe('levels', () => {
  test('the log prints nothing at a level above its verbosity', () => {
    const { log, records } = capture({ verbosity: 4 })
    log.v(4)?.info('four')
    log.v(5)?.info('five')
    expect(records).toHaveLength(1)
  })

  test.each([
    ['logger.test', 6, true],
    ['logger.test', 7, false],
    ['log*', 6, true],
    ['other', 6, false],
  ])('the vmodule rule %s=6 decides whether the log prints level %i in this file: %s', (pattern, level, on) => {
    const { log } = capture({ verbosity: 0, vmodule: [{ pattern, level: 6 }] })
    expect(log.v(level) !== undefined).toBe(on)
  })

  test('a vmodule rule with a lower level does not reduce the verbosity of the log', () => {
    const { log } = capture({ verbosity: 5, vmodule: [{ pattern: '*', level: 1 }] })
    expect(log.v(5)).toBeDefined()
  })

  test('the silent logger accepts all calls and writes nothing', () => {
    silentLogger.with({ a: 1 }).error(new Error('x'), 'm')
    expect(silentLogger.v(0)).toBeUndefined()
  })
})

test('each log method reports the line of its caller', () => {
  const { log, records } = capture()
  const next = new Error().stack?.split('\n')[1]?.match(/:(\d+):\d+\)?$/)?.[1]
  log.info('first')
  log.v(1)?.info('second')
  log.error(undefined, 'third')
  log.with({}).v(4)?.info('fourth')
  log.v(1)?.error(undefined, 'fifth')
  const lines = records.map((record) => Number(/\.ts:(\d+)\]/.exec(record)?.[1]))
  expect(lines).toEqual([1, 2, 3, 4, 5].map((offset) => Number(next) + offset))
})

describe('trace IDs', () => {
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'

  test.each([
    ['text', / "Attached" va="x"\n$/],
    ['json', /"msg":"Attached","v":0,"va":"x"\}\n$/],
  ] as const)('a log line outside of a run contains no trace ID: %s', (format, line) => {
    const { log, records } = capture({ format, traceId: () => undefined })
    log.info('Attached', { va: 'x' })
    expect(records[0]).toMatch(line)
  })

  test('each log line of a run ends with the trace ID of the run in the text format', () => {
    const { log, records } = capture({ traceId: () => traceId })
    const run = log.with({ va: 'x' })
    run.info('one')
    run.v(2)?.info('two', { count: 2 })
    run.warn('three')
    run.error(new Error('why'), 'four')
    expect(records.map((record) => record.slice(record.indexOf('] ') + 2))).toEqual(
      ['"one" va="x"', '"two" va="x" count=2', '"three" va="x"', '"four" err="why" va="x"'].map(
        (line) => `${line} traceID="${traceId}"\n`,
      ),
    )
  })

  test('the trace ID of a run comes after the pairs of its JSON log lines, and before an error', () => {
    const { log, records } = capture({ format: 'json', traceId: () => traceId })
    log.v(2)?.info('two', { count: 2 })
    log.error(new Error('why'), 'four', { count: 4 })
    expect(records.map((record) => record.slice(record.indexOf('"msg"')))).toEqual([
      `"msg":"two","v":2,"count":2,"traceID":"${traceId}"}\n`,
      `"msg":"four","count":4,"traceID":"${traceId}","err":"why"}\n`,
    ])
  })
})
