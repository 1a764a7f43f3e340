import { aborted } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import type { Lead } from '@csi-sidecars/controller'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { beforeEach, describe, expect, it } from '@jest/globals'
import type { Host, ProcessEnding, StartContext, StopSignal } from '../process.ts'
import type { StartedService } from '../serve/serve.ts'
import { failing, PrintAndExit, StartError } from '../start-error.ts'
import { ScriptedDriver } from '../testing/scripted.ts'
import { testSidecar } from '../testing/test-sidecar.ts'
import { runProgram } from './main.ts'
import { programOf } from './program.ts'
import { electorOf, kubeClient } from './steps.ts'

let stdout: string
let stderr: string
let signalled: ((signal: StopSignal) => void) | undefined
let fail: ((error: unknown) => void) | undefined
let terminationMessages: string[]
beforeEach(() => {
  stdout = ''
  stderr = ''
  signalled = undefined
  terminationMessages = []
})

function host(args: readonly string[]): Host {
  return {
    argv0: '/csi-test',
    args,
    env: {},
    hostName: 'host',
    clock: new FakeClock(),
    stdout: {
      write: (text) => {
        stdout += text
      },
    },
    stderr: {
      writableLength: 0,
      write: (text) => {
        stderr += text
        return true
      },
      on: () => undefined,
    },
    onSignal: (listener) => {
      signalled = listener
      return () => {
        signalled = undefined
      }
    },
    onUncaughtError: (listener) => {
      fail = listener
      return () => {
        fail = undefined
      }
    },
    writeTerminationMessage: async (message) => {
      terminationMessages.push(message)
    },
  }
}

/** Runs a program with the flags of the test sidecar. `begin` replaces its start. */
const run = (
  args: readonly string[],
  begin: (context: StartContext) => Promise<StartedService> = unstartable,
): Promise<ProcessEnding> => runProgram(programOf(testSidecar), host(args), { version: 'v1.2.3', begin })

const unstartable = async (): Promise<never> => {
  throw new StartError('It does not start')
}

/** Returns the log lines without time, process and call site. */
const lines = (): string[] =>
  stderr
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replace(/^([IWEF])\d{4} .*?\] /, '$1 '))

describe('command line', () => {
  it('the program refuses an unknown flag with the error, the usage and exit code 2', async () => {
    expect(await run(['--nope'])).toEqual({ code: 2 })
    expect(stderr).toMatch(/^flag provided but not defined: -nope\nUsage of \/csi-test:\n/)
    expect(stderr).toContain('  -label string\n    \tLabel to set. (default "seen")\n')
  })

  it.each([
    ['--nope', 'flag provided but not defined: -nope'],
    ['--csi-addr=x', 'flag provided but not defined: -csi-addr; the nearest flag is --csi-address'],
    ['--kube-api-qps=x', 'invalid value "x" for flag -kube-api-qps: parse error'],
  ])('the last printed line is the error for %s, so that a termination message contains it', async (flag, line) => {
    await run([flag])
    expect(stderr).toMatch(/\n\nTakes the place of external-test v1\.0\.0\.\n\n[^\n]+\n$/)
    expect(stderr.split('\n').at(-2)).toBe(line)
  })

  it.each(['-h', '--help'])('%s prints the usage on standard error, and the program ends with code 0', async (flag) => {
    expect(await run([flag])).toEqual({ code: 0 })
    expect(stderr).toMatch(/^Usage of \/csi-test:\n/)
    expect(stderr).toContain('ReleaseLeaderElectionOnExit=true|false')
    expect(stderr).toMatch(/\n\nTakes the place of external-test v1\.0\.0\.\n$/)
    expect(stdout).toBe('')
  })

  it('the program passes the flags of the app and the standard flags to the start function', async () => {
    let seen: StartContext | undefined
    await run(['--label=7', '-v=3', '--csi-address', '/s'], async (context) => {
      seen = context
      throw new StartError('enough')
    })
    expect(seen?.standard.values['csi-address']).toBe('/s')
    expect(seen?.standard.explicitFlags).toEqual(new Set(['label', 'v', 'csi-address']))
    expect(seen?.version).toBe('v1.2.3')
  })
})

describe('failed starts', () => {
  it('a failed start logs one line with the step and the reason, and ends with exit code 1', async () => {
    const start = (): Promise<never> =>
      Promise.reject(new Error('no such file')).catch(failing('Failed to build it', { path: '/x' }))
    expect(await run([], start)).toEqual({ code: 1 })
    expect(lines()).toEqual(['E "Failed to build it" err="no such file" path="/x"'])
  })

  it('a failed start logs a fatal line if the exit code is 255', async () => {
    expect(await run([], () => Promise.reject(new StartError('x', { exitCode: 255 })))).toEqual({ code: 255 })
    expect(lines()).toEqual(['F x'])
  })

  it('a failed start logs an unexpected error', async () => {
    expect(await run([], () => Promise.reject(new TypeError('oops')))).toEqual({ code: 1 })
    expect(lines()).toEqual(['E "Unexpected failure" err="oops"'])
  })

  it('a signal during the start ends the process without logging a failure', async () => {
    const start = ({ signal }: StartContext): Promise<never> =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
        signalled?.('SIGTERM')
      })
    expect(await run([], start)).toEqual({ code: 0 })
    expect(lines()).toEqual([])
    const gateOff = ['--feature-gates=ReleaseLeaderElectionOnExit=false']
    expect(await run(gateOff, start)).toEqual({ bySignal: 'SIGTERM' })
    expect(lines()).toEqual([])
  })

  it('a signal during the last step of the start ends the process', async () => {
    const start = async ({ log }: StartContext): Promise<StartedService> => {
      signalled?.('SIGTERM')
      const unused = (): never => {
        throw new Error('it serves')
      }
      return { log, driver: {} as never, caches: [], roles: [], close: unused }
    }
    expect(await run([], start)).toEqual({ code: 0 })
    expect(await run(['--feature-gates=ReleaseLeaderElectionOnExit=false'], start)).toEqual({ bySignal: 'SIGTERM' })
    expect(lines()).toEqual([])
  })

  it('a signal that arrives at the end of the start is not lost', async () => {
    const start = async ({ log }: StartContext): Promise<StartedService> => {
      const meant = signalled
      const lead = async ({ stop }: Lead): Promise<void> => {
        // The signal goes to the first listener. It would be lost if the program had replaced the listener.
        if (signalled === meant) meant?.('SIGTERM')
        else signalled?.('SIGINT')
        await aborted(stop)
      }
      const roles = [{ name: 'csi-test', elector: undefined, lead }]
      return { log, driver: new ScriptedDriver(), caches: [], roles, close: async () => undefined }
    }
    expect(await run(['--feature-gates=ReleaseLeaderElectionOnExit=false'], start)).toEqual({ bySignal: 'SIGTERM' })
  })
})

describe('errors that no code catches', () => {
  it('an uncaught error is logged, becomes the termination message, and ends the process with code 1', async () => {
    const ending = run([], () => {
      fail?.(new Error('a promise without an owner'))
      return new Promise(() => {})
    })
    expect(await ending).toEqual({ code: 1 })
    expect(terminationMessages).toEqual(['Unexpected failure: a promise without an owner'])
    expect(lines().at(-1)).toMatch(/^E "Unexpected failure" err="a promise without an owner"/)
    expect(fail).toBeUndefined()
  })
})

describe('the end by a signal without the gate ReleaseLeaderElectionOnExit', () => {
  it.each<[app: string, signal: StopSignal, args: readonly string[], ending: ProcessEnding]>([
    ['an app that SIGINT ends as a success', 'SIGINT', [], { code: 0 }],
    ['an app that SIGINT ends as a success', 'SIGTERM', [], { bySignal: 'SIGTERM' }],
    ['an app that SIGINT ends as a success', 'SIGINT', ['--leader-election'], { bySignal: 'SIGINT' }],
    ['any other app', 'SIGINT', [], { bySignal: 'SIGINT' }],
  ])('%s: the end by %s with the flags %j is %j', async (name, signal, args, ending) => {
    const start = async ({ log }: StartContext): Promise<StartedService> => {
      const lead = async ({ stop }: Lead): Promise<void> => {
        signalled?.(signal)
        await aborted(stop)
      }
      const roles = [{ name: 'csi-test', elector: undefined, lead }]
      return { log, driver: new ScriptedDriver(), caches: [], roles, close: async () => undefined }
    }
    const app = name === 'any other app' ? testSidecar : { ...testSidecar, start: { exitsWithZeroOnSigint: true } }
    const program = host(['--feature-gates=ReleaseLeaderElectionOnExit=false', ...args])
    expect(await runProgram(programOf(app), program, { version: 'v1.2.3', begin: start })).toEqual(ending)
  })
})

it('the end of the process runs all cleanup functions in reverse order, even after a failed start', async () => {
  const closed: string[] = []
  await run([], ({ atEnd }) => {
    for (const name of ['first', 'second']) atEnd(() => closed.push(name))
    return Promise.reject(new StartError('no'))
  })
  expect(closed).toEqual(['second', 'first'])
})

it('the program prints a requested text on standard output, and ends with exit code 0', async () => {
  expect(await run(['--version'], () => Promise.reject(new PrintAndExit('/csi-test v1.2.3\n')))).toEqual({ code: 0 })
  expect(stdout).toBe('/csi-test v1.2.3\n')
})

describe('unusable values', () => {
  it.each([
    {
      args: ['--logging-format=xml'],
      code: 1,
      line: 'E "LoggingConfiguration is invalid" err="format: Invalid value: \\"xml\\": Unsupported log format"',
    },
    {
      args: ['--logging-format=json', '--vmodule=a=1'],
      code: 1,
      line: 'E "LoggingConfiguration is invalid" err="vmodule: Forbidden: Only supported for text log format"',
    },
  ])('the program ends the start with the unusable flags $args with exit code $code', async ({ args, code, line }) => {
    expect(await run(args)).toEqual({ code })
    expect(lines()).toEqual([line])
  })

  describe('impossible timings', () => {
    const config = {
      origin: 'http://127.0.0.1:1',
      basePath: '',
      tls: undefined,
      credentials: { authorization: () => undefined, replaceRefused: async () => false, certificate: () => undefined },
      headers: [],
      proxy: undefined,
    }
    const elect = async (context: StartContext): Promise<never> => {
      const { standard } = context
      const client = (): KubeClient => kubeClient(context, config)
      const options = { client, standard, name: 'p-d', component: 'c', log: context.log }
      const elector = await electorOf(context, options)
      throw new StartError(elector === undefined ? 'No elector' : 'An elector')
    }

    it('impossible lease timings end the start with exit code 2 if leader election is on', async () => {
      const args = ['--leader-election', '--leader-election-lease-duration=1s']
      expect(await run(args, elect)).toEqual({ code: 2 })
      const line = 'E "Leader election timings are impossible" err="leaseDuration must be greater than renewDeadline"'
      expect(lines()).toEqual([line])
    })

    it('impossible lease timings are not reported if the start fails before the election', async () => {
      await run(['--leader-election', '--leader-election-lease-duration=1s'])
      expect(lines()).toEqual(['E "It does not start"'])
    })

    it('impossible lease timings have no effect without leader election', async () => {
      await run(['--leader-election-lease-duration=1s'], elect)
      expect(lines()).toEqual(['E "No elector"'])
    })
  })

  it('--automaxprocs is accepted, and a log line says that it has no effect', async () => {
    await run(['--automaxprocs'])
    expect(lines()[0]).toBe('I "Flag --automaxprocs has no effect: this program uses one CPU"')
  })
})

it('the program logs in JSON with --logging-format=json', async () => {
  await run(['--logging-format=json'])
  expect(JSON.parse(stderr)).toMatchObject({ msg: 'It does not start', err: null })
})

describe('run IDs', () => {
  const id = '4bf92f3577b34da6a3ce929d0e0e4736'
  const start = async ({ runs, log }: StartContext): Promise<never> => {
    const say = async (): Promise<void> => log.info('Attached')
    await (runs === undefined ? say() : runs.run({ traceId: id }, say))
    throw new PrintAndExit('enough')
  }

  it.each([
    [['-v=3'], false],
    [['--enable-otel-tracing'], false],
    [['--vmodule=attach=3'], false],
    [['-v=4'], true],
    [['--vmodule=other=1,attach=4'], true],
    [['--logging-format=json'], true],
    [['--logging-format=json', '--enable-otel-tracing'], true],
  ])('the flags %j decide whether the log lines of a run contain its ID: %p', async (flags, logged) => {
    await run(flags, start)
    expect(stderr.includes(id)).toBe(logged)
  })

  it('runs get IDs for traces only with --enable-otel-tracing', async () => {
    const seen: boolean[] = []
    for (const flags of [[], ['--enable-otel-tracing']]) {
      await run(flags, async ({ runs }) => {
        seen.push(runs !== undefined)
        throw new PrintAndExit('enough')
      })
    }
    expect(seen).toEqual([false, true])
  })
})
