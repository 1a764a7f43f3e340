import { AssertionError } from 'node:assert'
import type { ChildProcess } from 'node:child_process'
import { eventually, pause, type WaitOptions } from '../waiting.ts'
import { type Exit, exitOf, start, textOf } from './processes.ts'

/**
 * The command line and the environment of a sidecar process. It inherits only PATH; its HOME names a missing folder.
 */
export interface SidecarOptions {
  readonly binary: string
  readonly args: readonly string[]
  readonly env?: NodeJS.ProcessEnv | undefined
  readonly cwd?: string
  /** The host name, from which a replica derives its identity in the Lease. */
  readonly hostname?: string | undefined
  /** The port of `--http-endpoint` or `--metrics-address`. */
  readonly port?: number
}

/** All metrics of one scrape. `families` has the type and the help of each metric by name. */
export interface ScrapedMetrics {
  readonly text: string
  readonly families: ReadonlyMap<string, { readonly type: string; readonly help: string }>
  readonly samples: readonly Sample[]
  /** Returns the value of the series with this name and these labels. Throws if several series match. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined
}

/** The value of one series at the time of the scrape. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** A running process of a binary under test. */
export class Sidecar {
  readonly process: ChildProcess
  readonly args: readonly string[]
  readonly started = Date.now()
  readonly port: number | undefined
  exit: Exit | undefined
  readonly exited: Promise<Exit>
  readonly #stdout: () => string
  readonly #stderr: () => string

  constructor({ binary, args, env = {}, cwd, port, hostname }: SidecarOptions) {
    const program = binary.endsWith('.mjs') ? [process.execPath, binary] : [binary]
    const [command, ...first] = hostname === undefined ? program : [...underName(hostname), ...program]
    this.args = args
    this.port = port
    this.process = start(command ?? binary, [...first, ...args], {
      env: { PATH: process.env['PATH'], HOME: '/nonexistent', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      cwd,
    })
    this.#stdout = textOf(this.process.stdout)
    this.#stderr = textOf(this.process.stderr)
    this.exited = exitOf(this.process).then((exit) => {
      this.exit = exit
      return exit
    })
  }

  get pid(): number {
    return this.process.pid ?? -1
  }

  get stdout(): string {
    return this.#stdout()
  }

  get stderr(): string {
    return this.#stderr()
  }

  /** The complete log lines. */
  get lines(): readonly string[] {
    const complete = this.stderr.slice(0, this.exit === undefined ? this.stderr.lastIndexOf('\n') + 1 : undefined)
    return complete.split('\n').filter((line) => line !== '')
  }

  linesWith(text: string): readonly string[] {
    return this.lines.filter((line) => line.includes(text))
  }

  line(text: string, wait?: WaitOptions): Promise<string> {
    return eventually(`a log line with ${text}`, () => this.linesWith(text)[0], wait)
  }

  signal(signal: NodeJS.Signals): void {
    this.process.kill(signal)
  }

  /** Stops the process for this time, as on an overloaded machine. */
  async freeze(forMs: number): Promise<void> {
    this.signal('SIGSTOP')
    await pause(forMs)
    this.signal('SIGCONT')
  }

  /** Waits until the process has ended and all its output is read. */
  async end(within = 15_000): Promise<Exit> {
    const exit = await eventually(`the end of the process`, () => this.exit, { within })
    const drained = (): boolean =>
      this.process.stderr?.readableEnded !== false && this.process.stdout?.readableEnded !== false
    await eventually('the end of its output', drained)
    return exit
  }

  /** Sends a signal and waits for the end of the process. */
  endBy(signal: NodeJS.Signals, within?: number): Promise<Exit> {
    this.signal(signal)
    return this.end(within)
  }

  /** Requests a path of the HTTP endpoint on a new connection, because a kept connection may close at the same time. */
  async http(
    path: string,
    headers: Record<string, string> = {},
  ): Promise<{ code: number; text: string; headers: Headers }> {
    const answer = await fetch(`http://127.0.0.1:${this.port}${path}`, { headers: { connection: 'close', ...headers } })
    return { code: answer.status, text: await answer.text(), headers: answer.headers }
  }

  async metrics(): Promise<ScrapedMetrics> {
    return parseMetrics((await this.http('/metrics')).text)
  }
}

/** Returns the command that gives a program its own host name in a Linux namespace. The process ID stays the same. */
function underName(hostname: string): readonly string[] {
  const asRoot = process.getuid?.() === 0 ? [] : ['--map-root-user']
  return ['unshare', ...asRoot, '--uts', 'sh', '-c', 'hostname "$0" && exec "$@"', hostname]
}

export function parseMetrics(text: string): ScrapedMetrics {
  const families = new Map<string, { type: string; help: string }>()
  const samples: Sample[] = []
  for (const line of text.split('\n')) {
    const comment = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line)
    if (comment !== null) {
      const [, keyword, name = '', rest = ''] = comment
      const family = families.get(name) ?? { type: '', help: '' }
      families.set(name, keyword === 'HELP' ? { ...family, help: rest } : { ...family, type: rest })
      continue
    }
    const sample = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line)
    if (sample === null) continue
    const [, name = '', labels = '', value = ''] = sample
    samples.push({ name, labels: parseLabels(labels), value: value === '+Inf' ? Infinity : Number(value) })
  }
  const value: ScrapedMetrics['value'] = (name, labels = {}) => {
    const fits = samples.filter(
      (sample) => sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
    )
    if (fits.length > 1) throw new Error(`${fits.length} series fit ${name} ${JSON.stringify(labels)}`)
    return fits[0]?.value
  }
  return { text, families, samples, value }
}

function parseLabels(text: string): Record<string, string> {
  const pairs = text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)
  return Object.fromEntries([...pairs].map(([, key = '', value = '']) => [key, value.replace(/\\(.)/g, '$1')]))
}

/** Asserts that the line exists and contains each of these texts. */
export function assertContains(line: string | undefined, ...texts: readonly string[]): void {
  const missing = texts.find((text) => line?.includes(text) !== true)
  if (missing === undefined) return
  throw new AssertionError({ message: `the line does not contain the expected text`, actual: line, expected: missing })
}

/** Returns the last log line of a process: severity, message and pairs, without time and source location. */
export function lastLogLine({ lines }: { readonly lines: readonly string[] }): string {
  const line = lines.at(-1) ?? ''
  return `${line.slice(0, 1)} ${line.slice(line.indexOf(']') + 2)}`
}
