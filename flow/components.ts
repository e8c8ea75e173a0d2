/**
 * The groups of nodes that lead only to themselves: strongly connected components without an edge outside
 * (Tarjan 1972). Recursion is as deep as the longest path.
 */
export const closedGroups = (edges: readonly (readonly number[])[], starts: Iterable<number>): number[][] => {
  const order = new Map<number, number>();
  const low = new Map<number, number>();
  const stack: number[] = [];
  const open = new Set<number>();
  const groupOf = new Map<number, number[]>();
  const lowOf = (node: number): number => low.get(node) ?? 0;

  const close = (root: number): void => {
    const group = stack.splice(stack.indexOf(root));
    for (const node of group) {
      open.delete(node);
      groupOf.set(node, group);
    }
  };
  const visit = (node: number): void => {
    order.set(node, order.size);
    low.set(node, order.size - 1);
    stack.push(node);
    open.add(node);
    for (const to of edges[node] ?? []) {
      if (!order.has(to)) visit(to);
      if (open.has(to)) low.set(node, Math.min(lowOf(node), lowOf(to)));
    }
    if (lowOf(node) === order.get(node)) close(node);
  };
  for (const node of starts) if (!order.has(node)) visit(node);
  return [...new Set(groupOf.values())].filter(group =>
    group.every(node => (edges[node] ?? []).every(to => groupOf.get(to) === group)),
  );
};
