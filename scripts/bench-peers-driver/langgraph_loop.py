"""One node of LangGraph that loops and starts /bin/true each time, every turn made durable in SQLite before the next.

Usage: langgraph_loop.py STEPS DATABASE. Prints {"steps", "checkpoints", "inside_s"}; the imports and the making of the
database are not in `inside_s`.
"""

import json
import subprocess
import sys
import time
from typing import TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph


class Done(TypedDict):
    steps: int


def step(state: Done) -> Done:
    subprocess.run(["/bin/true"], check=True)
    return {"steps": state["steps"] + 1}


def main() -> None:
    steps, database = int(sys.argv[1]), sys.argv[2]
    graph = StateGraph(Done)
    graph.add_node("step", step)
    graph.add_edge(START, "step")
    graph.add_conditional_edges("step", lambda state: END if state["steps"] >= steps else "step")
    config = {"configurable": {"thread_id": "bench"}, "recursion_limit": steps + 10}
    with SqliteSaver.from_conn_string(database) as saver:
        saver.setup()
        app = graph.compile(checkpointer=saver)
        began = time.perf_counter()
        done = app.invoke({"steps": 0}, config, durability="sync")
        inside_s = time.perf_counter() - began
        checkpoints = saver.conn.execute("SELECT count(*) FROM checkpoints").fetchone()[0]
    print(json.dumps({"steps": done["steps"], "checkpoints": checkpoints, "inside_s": inside_s}))


if __name__ == "__main__":
    main()
