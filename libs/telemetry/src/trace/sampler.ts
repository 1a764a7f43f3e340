import type { SpanContext } from './traceparent.ts'

/** Reports whether a trace is recorded, decided at its beginning. */
export type Sampler = (traceId: string, parent: SpanContext | undefined) => boolean

/** Undefined for a name that is not known, or an argument that is no part of 1. */
export function samplerOf(name: string, argument: string): Sampler | undefined {
  const [, parentBased, root = ''] = /^(parentbased_)?(.*)$/.exec(name) ?? []
  const decide = rootSampler(root, argument)
  if (decide === undefined || parentBased === undefined) return decide
  return (traceId, parent) => parent?.sampled ?? decide(traceId, undefined)
}

function rootSampler(name: string, argument: string): Sampler | undefined {
  switch (name) {
    case 'always_on':
      return () => true
    case 'always_off':
      return () => false
    case 'traceidratio':
      return ratioSampler(argument)
    default:
      return undefined
  }
}

/** Samples by the same digits of the ID as Go's SDK, so that components with the same ratio keep the same traces. */
function ratioSampler(argument: string): Sampler | undefined {
  const part = argument === '' ? 1 : Number(argument)
  if (!(part >= 0 && part <= 1)) return undefined
  if (part === 1) return () => true
  const bound = BigInt(Math.floor(part * 2 ** 63))
  return (traceId) => BigInt(`0x${traceId.slice(16)}`) >> 1n < bound
}
