package view_test

import (
	"context"
	"fmt"

	"github.com/kasoku/kasoku/internal/cluster/protocol"
	"github.com/kasoku/kasoku/internal/cluster/view"
	"github.com/kasoku/kasoku/internal/testutil/viewtest"
)

func ExampleStore_Write() {
	ctx := context.Background()
	s := view.New(view.Config{Cluster: "production", Table: "kasoku-cluster", Call: viewtest.New().Client().Call})
	v, err := s.Read(ctx)
	fmt.Println(v.Rev, len(v.Members), err)

	v.Rev, v.Epoch = v.Rev+1, v.Epoch+1
	v.Members = append(v.Members, protocol.Member{Instance: 17, Node: "a", Address: "10.0.0.1:7946"})
	fmt.Println(s.Write(ctx, 0, v))
	fmt.Println(s.Write(ctx, 0, v)) // as another member that has read the same revision
	// Output:
	// 0 0 <nil>
	// <nil>
	// cluster view: the stored revision is not the expected one: the view was changed by another node
}
