import { Session } from 'node:inspector/promises'
import { memoryUsage } from 'node:process'
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8'
import { type Clock, isAbort, scope } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'
import { parseListenAddress } from '../listen-address.ts'
import { type Asked, ERROR_HEADERS, type HttpServer, listenHttp, PLAIN, type Reply, type Routes } from '../listener.ts'

export interface ProfilingOptions {
  readonly address: string
  readonly clock: Clock
  readonly log: Logger
}

const JSON_HEADERS = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }
const DEFAULT_SECONDS = 10
const MOST_SECONDS = 60
/** Nothing moves on a connection while its profile is being made. */
const IDLE_MS = (MOST_SECONDS + 30) * 1000

/**
 * Profiles of the CPU time and memory of the process, for clients on the same machine. They contain function names,
 * places in the source and numbers; never a value. No debugger listens for that.
 */
export async function startProfiling({ address, clock, log }: ProfilingOptions): Promise<HttpServer> {
  const { host } = parseListenAddress(address)
  if (host === undefined || !isLoopback(host)) throw new Error('profiles are for loopback addresses only')
  const routes: Routes = new Map<string, (asked: Asked) => Reply | Promise<Reply>>([
    ['/debug/profile', cpuProfiles(clock)],
    ['/debug/heap', () => heapSummary()],
  ])
  const server = await listenHttp({ address, routes, log, idleMs: IDLE_MS })
  log.info('Serving profiles', { address })
  return server
}

function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.[0-9]{1,3}){3}|::1)$/.test(host)
}

/** One at a time: each slows the process down a little. */
function cpuProfiles(clock: Clock): (asked: Asked) => Promise<Reply> {
  let running = false
  return async ({ query, signal }) => {
    const seconds = Number(query.get('seconds') ?? DEFAULT_SECONDS)
    if (!(seconds > 0 && seconds <= MOST_SECONDS))
      return refusal(400, `seconds is more than 0, at most ${MOST_SECONDS}`)
    if (running) return refusal(409, 'another profile is being made')
    running = true
    try {
      return { status: 200, body: await cpuProfile(clock, seconds, signal), headers: JSON_HEADERS, compressible: true }
    } catch (error) {
      if (isAbort(error)) return refusal(499, 'the client has gone')
      throw error
    } finally {
      running = false
    }
  }
}

/** As Chrome's and VS Code's profilers open it: a .cpuprofile. */
async function cpuProfile(clock: Clock, seconds: number, signal: AbortSignal): Promise<string> {
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.start')
    using wait = scope(signal)
    await clock.sleep(seconds * 1000, wait.signal)
    const { profile } = await session.post('Profiler.stop')
    return JSON.stringify(profile)
  } finally {
    session.disconnect()
  }
}

function heapSummary(): Reply {
  const summary = { process: memoryUsage(), heap: getHeapStatistics(), spaces: getHeapSpaceStatistics() }
  return { status: 200, body: `${JSON.stringify(summary, null, 2)}\n`, headers: JSON_HEADERS, compressible: true }
}

function refusal(status: number, text: string): Reply {
  return { status, body: `${text}\n`, headers: { ...ERROR_HEADERS, ...PLAIN } }
}
